(** * Edges: the edges of a window

    A sliding or growing window moves its edges through the curve.  The
    derivative by an edge is the integrand there: e^{a(edge)} G(edge), with
    G(s) = (g.v(s) - g.o + g_lse)/Z, positive for the upper edge and negative
    for the lower one. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment Sums Curve Attention Gradient Backward.
Open Scope R_scope.

(** A time that is not a node's: before the first, after the last, or inside a segment. *)
Definition off_node (tau : nat -> R) (n : nat) (s : R) : Prop :=
  s < tau 0%nat \/ tau n < s \/ exists j, (j < n)%nat /\ tau j < s < tau (S j).

(** [edge] The curve is continuous at every time that is not a node's, whatever the durations. *)
Theorem curve_continuous tau u n s : timeline tau n -> off_node tau n s ->
  continuous (curve tau u n) s.
Proof.
  intros T [H|[H|(j & L & H1 & H2)]].
  - apply (continuous_ext_loc (curve tau u n) (fun _ => u 0%nat)); [|apply continuous_const].
    assert (E : 0 < tau 0%nat - s) by lra. exists (mkposreal _ E). intros y Hy.
    symmetry. apply curve_before; [exact T|].
    assert (B : Rabs (y - s) < tau 0%nat - s) by exact Hy. apply Rabs_lt_between in B. lra.
  - apply (continuous_ext_loc (curve tau u n) (fun _ => u n)); [|apply continuous_const].
    assert (E : 0 < s - tau n) by lra. exists (mkposreal _ E). intros y Hy.
    symmetry. apply curve_after.
    assert (B : Rabs (y - s) < s - tau n) by exact Hy. apply Rabs_lt_between in B. lra.
  - apply (continuous_ext_loc (curve tau u n)
      (fun y => lerp (u j) (u (S j)) ((y - tau j) / (tau (S j) - tau j)))).
    + assert (E : 0 < Rmin (s - tau j) (tau (S j) - s)) by (apply Rmin_glb_lt; lra).
      exists (mkposreal _ E). intros y Hy. symmetry. apply eq3_curve; [exact T | exact L|].
      assert (B : Rabs (y - s) < Rmin (s - tau j) (tau (S j) - s)) by exact Hy.
      pose proof (Rmin_l (s - tau j) (tau (S j) - s)). pose proof (Rmin_r (s - tau j) (tau (S j) - s)).
      apply Rabs_lt_between in B. lra.
    + revert s H1 H2. intros s _ _. revert s.
      change (cts (fun y => lerp (u j) (u (S j)) ((y - tau j) / (tau (S j) - tau j)))).
      apply (cts_comp (lerp (u j) (u (S j))) (fun y => (y - tau j) / (tau (S j) - tau j)));
        [apply cts_lerp | cts].
Qed.

(** Where durations are positive the curve is continuous at the nodes, too. *)
Definition ramp (r : R) : R := (1 + Rabs r - Rabs (r - 1)) / 2.
Lemma cts_ramp : cts ramp.
Proof.
  unfold ramp. assert (A : cts (fun r => Rabs r)) by (intros r; apply continuous_Rabs).
  assert (B : cts (fun r => Rabs (r - 1))) by (apply (cts_comp Rabs (fun r => r - 1)); [exact A | cts]).
  cts.
Qed.

(** [edge] On a line with positive durations the curve is continuous everywhere. *)
Theorem curve_continuous_everywhere tau u n s : increasing tau n -> continuous (curve tau u n) s.
Proof.
  intros I. revert s. change (cts (curve tau u n)). induction n as [|m IH].
  - simpl. cts.
  - assert (C : cts (fun s => curve tau u m s + (u (S m) - u m) * ramp ((s - tau m) / (tau (S m) - tau m)))).
    { assert (R : cts (fun s => ramp ((s - tau m) / (tau (S m) - tau m)))).
      { apply (cts_comp ramp (fun s => (s - tau m) / (tau (S m) - tau m))); [apply cts_ramp | cts]. }
      assert (M : cts (fun s => curve tau u m s)) by (apply IH; intros i Hi; apply I; lia). cts. }
    intros s. apply (continuous_ext (fun s => curve tau u m s
      + (u (S m) - u m) * ramp ((s - tau m) / (tau (S m) - tau m)))); [|apply C].
    intros y. simpl. pose proof (I m ltac:(lia)) as D.
    assert (K : y - tau m = (y - tau m) / (tau (S m) - tau m) * (tau (S m) - tau m)) by (field; lra).
    set (r := (y - tau m) / (tau (S m) - tau m)) in *.
    destruct (Rle_dec (tau (S m)) y) as [H|H]; [|destruct (Rle_dec (tau m) y) as [G|G]].
    + rewrite (curve_after tau u m y) by lra.
      assert (1 <= r) by nra. unfold ramp. rewrite !Rabs_right by lra. field.
    + rewrite (curve_after tau u m y) by lra.
      assert (0 <= r) by nra. assert (r <= 1) by nra.
      unfold ramp. rewrite (Rabs_right r), (Rabs_left1 (r - 1)) by lra. unfold lerp. field.
    + assert (r <= 0) by nra. unfold ramp. rewrite !Rabs_left1 by lra.
      transitivity (curve tau u m y); [field | reflexivity].
Qed.

(** A time at which the curve is continuous: off the nodes, or anywhere if durations are positive. *)
Definition smooth_at (tau : nat -> R) (n : nat) (s : R) : Prop := off_node tau n s \/ increasing tau n.
Lemma smooth_continuous tau u n s : timeline tau n -> smooth_at tau n s -> continuous (curve tau u n) s.
Proof. intros T [H|H]; [now apply curve_continuous | now apply curve_continuous_everywhere]. Qed.

Lemma integrand_continuous tau a v n s : timeline tau n -> smooth_at tau n s ->
  continuous (fun s => exp (curve tau a n s) * curve tau v n s) s.
Proof.
  intros T H. apply (continuous_mult (fun s => exp (curve tau a n s)) (curve tau v n)).
  - apply (continuous_comp (curve tau a n) exp); [now apply smooth_continuous|].
    revert s H. intros s _. generalize (curve tau a n s). change (cts (fun s => exp s)). cts.
  - now apply smooth_continuous.
Qed.

Lemma upper_edge tau a v n lo hi : timeline tau n -> lo < hi -> smooth_at tau n hi ->
  is_derive (fun h => RInt (fun s => exp (curve tau a n s) * curve tau v n s) lo h) hi
    (exp (curve tau a n hi) * curve tau v n hi).
Proof.
  intros T W H.
  apply (is_derive_RInt (V := R_NormedModule) (fun s => exp (curve tau a n s) * curve tau v n s)
    (fun h => RInt (fun s => exp (curve tau a n s) * curve tau v n s) lo h) lo hi).
  - assert (E : 0 < hi - lo) by lra. exists (mkposreal _ E). intros y Hy.
    assert (B : Rabs (y - hi) < hi - lo) by exact Hy. apply Rabs_lt_between in B.
    pose proof (eq9_numerator tau a v n lo y T ltac:(lra)) as I.
    now rewrite (is_RInt_value _ _ _ _ I).
  - now apply integrand_continuous.
Qed.
Lemma lower_edge tau a v n lo hi : timeline tau n -> lo < hi -> smooth_at tau n lo ->
  is_derive (fun l => RInt (fun s => exp (curve tau a n s) * curve tau v n s) l hi) lo
    (- (exp (curve tau a n lo) * curve tau v n lo)).
Proof.
  intros T W H.
  apply (is_derive_RInt' (V := R_NormedModule) (fun s => exp (curve tau a n s) * curve tau v n s)
    (fun l => RInt (fun s => exp (curve tau a n s) * curve tau v n s) l hi) lo hi).
  - assert (E : 0 < hi - lo) by lra. exists (mkposreal _ E). intros y Hy.
    assert (B : Rabs (y - lo) < hi - lo) by exact Hy. apply Rabs_lt_between in B.
    pose proof (eq9_numerator tau a v n y hi T ltac:(lra)) as I.
    now rewrite (is_RInt_value _ _ _ _ I).
  - now apply integrand_continuous.
Qed.

(** G at a time s: the integrals of (2), so that edges and nodes share one formula. *)
Definition adjoint_at (tau : nat -> R) (n : nat) (lo hi : R) (m : nat) (g : nat -> R)
    (V : nat -> nat -> R) (g_lse : R) (a : nat -> R) (s : R) : R :=
  let z := RInt (fun s => exp (curve tau a n s)) lo hi in
  (dot m g (fun c => curve tau (fun i => V i c) n s)
   - dot m g (fun c => RInt (fun s => exp (curve tau a n s) * curve tau (fun i => V i c) n s) lo hi / z)
   + g_lse) / z.

(** Both edges at once: numerator and denominator move at the rates p v and p. *)
Lemma edge_gradient (N : R -> nat -> R) (z : R -> R) x (v : nat -> R) m g g_lse (p : R) :
  0 < z x -> (forall c, is_derive (fun t => N t c) x (p * v c)) -> is_derive z x p ->
  is_derive (fun t => dot m g (fun c => N t c / z t) + g_lse * ln (z t)) x
    (p * ((dot m g v - dot m g (fun c => N x c / z x) + g_lse) / z x)).
Proof.
  intros HZ HN Hz. unfold dot.
  apply (is_derive_eq _ _ (sum (fun c => g c * ((p * v c - N x c / z x * p) / z x)) m
                           + g_lse * (p / z x))).
  - apply (is_derive_plus_R (fun t => sum (fun c => g c * (N t c / z t)) m)
      (fun t => g_lse * ln (z t))).
    + apply (is_derive_sum (fun c t => g c * (N t c / z t))). intros c _.
      apply is_derive_scal_R. apply (is_derive_quotient (fun t => N t c) z); [lra | apply HN | exact Hz].
    + apply is_derive_scal_R. now apply (is_derive_ln_R z).
  - rewrite (sum_ext _ (fun c => p / z x * (g c * v c) + - (p / z x) * (g c * (N x c / z x))))
      by (intros; field; lra).
    rewrite sum_plus, !sum_scal. field. lra.
Qed.

(** [edge] dL/d(upper edge) = e^{a(hi)} G(hi), for the integrals of (2). *)
Theorem upper_edge_gradient tau n lo hi m g V g_lse a : timeline tau n -> lo < hi ->
  smooth_at tau n hi ->
  is_derive (fun h => integral_loss tau n lo h m g V g_lse a) hi
    (exp (curve tau a n hi) * adjoint_at tau n lo hi m g V g_lse a hi).
Proof.
  intros T W H. unfold integral_loss, adjoint_at.
  apply (edge_gradient (fun t c => RInt (fun s => exp (curve tau a n s) * curve tau (fun i => V i c) n s) lo t)
    (fun t => RInt (fun s => exp (curve tau a n s)) lo t) hi
    (fun c => curve tau (fun i => V i c) n hi) m g g_lse (exp (curve tau a n hi))).
  - rewrite (is_RInt_value _ _ _ _ (eq9_denominator tau a n lo hi T ltac:(lra))). now apply Z_pos.
  - intros c. now apply upper_edge.
  - apply (is_derive_ext_R (fun h => RInt (fun s => exp (curve tau a n s) * curve tau (fun _ => 1) n s) lo h)).
    { intros t. apply RInt_ext_R. intros s. rewrite curve_const. ring. }
    apply (is_derive_eq _ _ _ _ (upper_edge tau a (fun _ => 1) n lo hi T W H)). rewrite curve_const. ring.
Qed.

(** [edge] dL/d(lower edge) = - e^{a(lo)} G(lo), for the integrals of (2). *)
Theorem lower_edge_gradient tau n lo hi m g V g_lse a : timeline tau n -> lo < hi ->
  smooth_at tau n lo ->
  is_derive (fun l => integral_loss tau n l hi m g V g_lse a) lo
    (- (exp (curve tau a n lo) * adjoint_at tau n lo hi m g V g_lse a lo)).
Proof.
  intros T W H. unfold integral_loss, adjoint_at.
  apply (is_derive_eq _ _ (- exp (curve tau a n lo) *
    ((dot m g (fun c => curve tau (fun i => V i c) n lo)
      - dot m g (fun c => RInt (fun s => exp (curve tau a n s) * curve tau (fun i => V i c) n s) lo hi
                          / RInt (fun s => exp (curve tau a n s)) lo hi) + g_lse)
     / RInt (fun s => exp (curve tau a n s)) lo hi))); [|ring].
  apply (edge_gradient (fun t c => RInt (fun s => exp (curve tau a n s) * curve tau (fun i => V i c) n s) t hi)
    (fun t => RInt (fun s => exp (curve tau a n s)) t hi) lo
    (fun c => curve tau (fun i => V i c) n lo) m g g_lse (- exp (curve tau a n lo))).
  - rewrite (is_RInt_value _ _ _ _ (eq9_denominator tau a n lo hi T ltac:(lra))). now apply Z_pos.
  - intros c. apply (is_derive_eq _ _ _ _ (lower_edge tau a (fun i => V i c) n lo hi T W H)). ring.
  - apply (is_derive_ext_R (fun l => RInt (fun s => exp (curve tau a n s) * curve tau (fun _ => 1) n s) l hi)).
    { intros t. apply RInt_ext_R. intros s. rewrite curve_const. ring. }
    apply (is_derive_eq _ _ _ _ (lower_edge tau a (fun _ => 1) n lo hi T W H)). rewrite curve_const. ring.
Qed.

(** ** Windows that shrink to a point *)

(** [window] o lies between any bounds of the curve's values inside the window. *)
Theorem attention_within_window scale d q K V tau n lo hi c l u : timeline tau n -> lo < hi ->
  (forall s, lo < s < hi -> l <= curve tau (fun i => V i c) n s <= u) ->
  l <= attention scale d q K V tau n lo hi c <= u.
Proof.
  intros T W H. rewrite attention_scores. set (a := score scale d q K).
  pose proof (eq9_denominator tau a n lo hi T ltac:(lra)) as D.
  pose proof (eq9_numerator tau a (fun i => V i c) n lo hi T ltac:(lra)) as N.
  rewrite (is_RInt_value _ _ _ _ D), (is_RInt_value _ _ _ _ N).
  pose proof (Z_pos tau a n lo hi T W) as ZP.
  set (z := Z tau a n lo hi) in *. set (nu := sum (fun i => P tau a n lo hi i * V i c) (S n)) in *.
  assert (B : l * z <= nu <= u * z).
  { split.
    - apply (is_RInt_le (fun s => l * exp (curve tau a n s))
        (fun s => exp (curve tau a n s) * curve tau (fun i => V i c) n s) lo hi); try lra;
        [now apply is_RInt_scal_R | exact N |].
      intros s Hs. rewrite Rmult_comm. apply Rmult_le_compat_l; [left; apply exp_pos | now apply H].
    - apply (is_RInt_le (fun s => exp (curve tau a n s) * curve tau (fun i => V i c) n s)
        (fun s => u * exp (curve tau a n s)) lo hi); try lra;
        [exact N | now apply is_RInt_scal_R |].
      intros s Hs. rewrite (Rmult_comm u). apply Rmult_le_compat_l; [left; apply exp_pos | now apply H]. }
  assert (E : nu / z * z = nu) by (field; lra).
  split; apply Rmult_le_reg_r with z; lra.
Qed.

(** [window] A window that shrinks to its upper edge: o tends to the curve's value there, the
    value that the operator gives to a window of no duration. *)
Theorem shrinking_window scale d q K V tau n hi c : timeline tau n -> smooth_at tau n hi ->
  forall eps, 0 < eps -> exists delta, 0 < delta /\ forall lo, hi - delta < lo < hi ->
  Rabs (attention scale d q K V tau n lo hi c - curve tau (fun i => V i c) n hi) <= eps.
Proof.
  intros T S eps He.
  pose proof (smooth_continuous tau (fun i => V i c) n hi T S) as C.
  destruct (proj1 (filterlim_locally _ _) C (mkposreal eps He)) as [delta Hd].
  exists delta. split; [apply cond_pos|]. intros lo Hlo.
  assert (B : forall s, lo < s < hi ->
    curve tau (fun i => V i c) n hi - eps <= curve tau (fun i => V i c) n s
    <= curve tau (fun i => V i c) n hi + eps).
  { intros s Hs. assert (D : Rabs (s - hi) < delta) by (apply Rabs_lt_between; lra).
    specialize (Hd s D).
    assert (F : Rabs (curve tau (fun i => V i c) n s - curve tau (fun i => V i c) n hi) < eps) by exact Hd.
    apply Rabs_lt_between in F. lra. }
  pose proof (attention_within_window scale d q K V tau n lo hi c _ _ T ltac:(lra) B).
  apply Rabs_le. lra.
Qed.
