(** * Trapezoid: how far the trapezoid rule is from the exact integral

    The trapezoid rule gives half of a segment's duration to each end.  Its
    difference from the Linear rule is an explicit second-order term: in the
    change x of the score and the change of the value over a segment. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment Sums Curve Attention Gradient.
Open Scope R_scope.

(** ** One segment *)

Lemma trapezoid_by_parts (f f1 f2 : R -> R) :
  (forall s, is_derive f s (f1 s)) -> (forall s, is_derive f1 s (f2 s)) -> cts f2 ->
  is_RInt (fun s => f s + s * (1 - s) / 2 * f2 s) 0 1 ((f 0 + f 1) / 2).
Proof.
  intros D1 D2 C.
  assert (C0 : cts f) by exact (cts_of_derive f f1 D1).
  apply (is_RInt_antiderivative (fun s => (s - 1 / 2) * f s + s * (1 - s) / 2 * f1 s)).
  - intros s.
    apply (is_derive_eq _ _ ((1 * f s + (s - 1 / 2) * f1 s)
                             + ((1 / 2 - s) * f1 s + s * (1 - s) / 2 * f2 s))); [|field].
    apply (is_derive_plus_R (fun s => (s - 1 / 2) * f s) (fun s => s * (1 - s) / 2 * f1 s)).
    + apply (is_derive_mult_R (fun s => s - 1 / 2) f); [deriv | apply D1].
    + apply (is_derive_mult_R (fun s => s * (1 - s) / 2) f1); [deriv | apply D2].
  - cts.
  - field.
Qed.

Lemma lerp_derive u0 u1 s : is_derive (lerp u0 u1) s (u1 - u0).
Proof. unfold lerp. deriv. Qed.
Lemma exp_lerp_derive a0 a1 s :
  is_derive (fun s => exp (lerp a0 a1 s)) s (exp (lerp a0 a1 s) * (a1 - a0)).
Proof.
  apply (is_derive_comp_R exp (lerp a0 a1)); [|apply lerp_derive]. apply is_derive_exp.
Qed.

(** [trapezoid] On a segment, Trapezoid less Linear is (D/2) int_0^1 s(1-s) e^{a(s)} (x^2 v(s)
    + 2 x (v1 - v0)) ds, exactly. *)
Theorem trapezoid_minus_linear D a0 a1 v0 v1 :
  (left (trapezoid D a0 a1) * v0 + right (trapezoid D a0 a1) * v1)
  - (left (linear D a0 a1) * v0 + right (linear D a0 a1) * v1)
  = D / 2 * moment a0 a1 0 1 (fun s => s * (1 - s)
      * ((a1 - a0) ^ 2 * lerp v0 v1 s + 2 * (a1 - a0) * (v1 - v0))).
Proof.
  set (x := a1 - a0). set (dv := v1 - v0).
  set (f := fun s => exp (lerp a0 a1 s) * lerp v0 v1 s).
  set (f1 := fun s => exp (lerp a0 a1 s) * (x * lerp v0 v1 s + dv)).
  set (f2 := fun s => exp (lerp a0 a1 s) * (x ^ 2 * lerp v0 v1 s + 2 * x * dv)).
  assert (D1 : forall s, is_derive f s (f1 s)).
  { intros s. apply (is_derive_eq _ _ (exp (lerp a0 a1 s) * x * lerp v0 v1 s + exp (lerp a0 a1 s) * dv)).
    - apply (is_derive_mult_R (fun s => exp (lerp a0 a1 s)) (lerp v0 v1)).
      + apply exp_lerp_derive.
      + apply lerp_derive.
    - unfold f1. ring. }
  assert (D2 : forall s, is_derive f1 s (f2 s)).
  { intros s. apply (is_derive_eq _ _ (exp (lerp a0 a1 s) * x * (x * lerp v0 v1 s + dv)
                                       + exp (lerp a0 a1 s) * (x * dv + 0))).
    - apply (is_derive_mult_R (fun s => exp (lerp a0 a1 s)) (fun s => x * lerp v0 v1 s + dv)).
      + apply exp_lerp_derive.
      + apply (is_derive_plus_R (fun s => x * lerp v0 v1 s) (fun _ => dv)).
        * apply is_derive_scal_R, lerp_derive.
        * apply is_derive_const_R.
    - unfold f2. ring. }
  assert (C : cts f2).
  { unfold f2. apply cts_moment. pose proof (cts_lerp v0 v1). cts. }
  pose proof (trapezoid_by_parts f f1 f2 D1 D2 C) as T.
  pose proof (is_RInt_moment a0 a1 0 1 (lerp v0 v1) (cts_lerp v0 v1)) as M.
  pose proof (is_RInt_minus_R _ _ _ _ _ _ T M) as S.
  assert (G : is_RInt (fun s => 1 / 2 * (exp (lerp a0 a1 s) * (s * (1 - s)
      * (x ^ 2 * lerp v0 v1 s + 2 * x * dv)))) 0 1
      ((f 0 + f 1) / 2 - moment a0 a1 0 1 (lerp v0 v1))).
  { revert S. apply is_RInt_ext_R. intros s _. unfold f, f2. field. }
  assert (CG : cts (fun s => s * (1 - s) * (x ^ 2 * lerp v0 v1 s + 2 * x * dv))).
  { pose proof (cts_lerp v0 v1). cts. }
  pose proof (is_RInt_scal_R _ _ _ (1 / 2) _ (is_RInt_moment a0 a1 0 1 _ CG)) as H.
  pose proof (is_RInt_value _ _ _ _ G) as E1. rewrite (is_RInt_value _ _ _ _ H) in E1.
  rewrite <- linear_whole, <- linear_cut_value. unfold trapezoid. cbn [left right].
  transitivity (D * ((f 0 + f 1) / 2 - moment a0 a1 0 1 (lerp v0 v1))).
  - unfold f. rewrite !lerp_0, !lerp_1. field.
  - rewrite <- E1. field.
Qed.

(** [trapezoid] Trapezoid's mass is Linear's mass plus x^2/2 times Linear's coupling. *)
Theorem trapezoid_mass D a0 a1 :
  mass (trapezoid D a0 a1) = mass (linear D a0 a1) + (a1 - a0) ^ 2 / 2 * coupling (linear D a0 a1).
Proof.
  pose proof (trapezoid_minus_linear D a0 a1 1 1) as T.
  rewrite (moment_ext _ _ _ _ _ (fun s => (a1 - a0) ^ 2 * (s * (1 - s)) + 0 * 1)) in T
    by (intros; unfold lerp; ring).
  rewrite (moment_lin _ _ _ _ (fun s => s * (1 - s)) (fun _ => 1)) in T by cts.
  unfold mass. rewrite linear_integral at 3. cbn [coupling].
  transitivity (left (linear D a0 a1) + right (linear D a0 a1)
    + (left (trapezoid D a0 a1) * 1 + right (trapezoid D a0 a1) * 1
       - (left (linear D a0 a1) * 1 + right (linear D a0 a1) * 1))); [ring|].
  rewrite T. field.
Qed.

(** [trapezoid] Trapezoid's mass lies between Linear's mass and (1 + x^2/8) times it. *)
Theorem trapezoid_mass_bounds D a0 a1 : 0 <= D ->
  mass (linear D a0 a1) <= mass (trapezoid D a0 a1)
  <= mass (linear D a0 a1) * (1 + (a1 - a0) ^ 2 / 8).
Proof.
  intros HD. rewrite trapezoid_mass.
  pose proof (linear_coupling_le D a0 a1 HD) as C.
  pose proof (linear_cut_nonneg D a0 a1 0 1 HD ltac:(lra) ltac:(lra) ltac:(lra)) as (_ & _ & N).
  rewrite linear_whole in N. pose proof (pow2_ge_0 (a1 - a0)) as X. split.
  - assert (0 <= (a1 - a0) ^ 2 * coupling (linear D a0 a1)) by (apply Rmult_le_pos; lra). lra.
  - assert ((a1 - a0) ^ 2 * coupling (linear D a0 a1)
            <= (a1 - a0) ^ 2 * (mass (linear D a0 a1) / 4)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** ** A whole line *)

Definition linear_line (D a : nat -> R) (i : nat) : shares := linear (D i) (a i) (a (S i)).
Definition trapezoid_line (D a : nat -> R) (i : nat) : shares := trapezoid (D i) (a i) (a (S i)).
(** The output of a run of segments. *)
Definition output (p : nat -> shares) (y : nat -> R) (n : nat) : R :=
  numerator p 0 0 y n / denominator p 0 0 n.

Lemma denominator_sum p n : denominator p 0 0 n = sum (fun i => mass (p i)) n.
Proof. unfold denominator. ring. Qed.

(** [trapezoid] abs(o_Trapezoid - o_Linear) <= (X^2 W + 2 X V)/8 where X bounds the score's
    change over a segment, V the value's, W the distance of two values: second order. *)
Theorem trapezoid_output_error D a y n X V W :
  (forall i, (i < n)%nat -> 0 <= D i) -> 0 < denominator (linear_line D a) 0 0 n ->
  (forall i, (i < n)%nat -> Rabs (a (S i) - a i) <= X) ->
  (forall i, (i < n)%nat -> Rabs (y (S i) - y i) <= V) ->
  (forall i j, (i <= n)%nat -> (j <= n)%nat -> y i - y j <= W) ->
  Rabs (output (trapezoid_line D a) y n - output (linear_line D a) y n) <= (X ^ 2 * W + 2 * X * V) / 8.
Proof.
  intros HD HZ HX HV HW.
  assert (Hn : (0 < n)%nat).
  { destruct n; [|lia]. unfold denominator in HZ. simpl in HZ. lra. }
  set (zl := denominator (linear_line D a) 0 0 n) in *.
  set (zt := denominator (trapezoid_line D a) 0 0 n).
  set (o := output (linear_line D a) y n).
  assert (X0 : 0 <= X) by (eapply Rle_trans; [apply Rabs_pos | apply (HX 0%nat Hn)]).
  assert (V0 : 0 <= V) by (eapply Rle_trans; [apply Rabs_pos | apply (HV 0%nat Hn)]).
  assert (W0 : 0 <= W) by (pose proof (HW 0%nat 0%nat ltac:(lia) ltac:(lia)); lra).
  assert (Nl : forall w, numerator (linear_line D a) 0 0 w n
     = sum (fun i => left (linear_line D a i) * w i + right (linear_line D a i) * w (S i)) n)
    by (intros; unfold numerator; ring).
  assert (Nt : forall w, numerator (trapezoid_line D a) 0 0 w n
     = sum (fun i => left (trapezoid_line D a i) * w i + right (trapezoid_line D a i) * w (S i)) n)
    by (intros; unfold numerator; ring).
  assert (LN : forall i, (i < n)%nat -> 0 <= left (linear_line D a i) /\ 0 <= right (linear_line D a i)
                          /\ 0 <= coupling (linear_line D a i)).
  { intros i Hi. unfold linear_line. rewrite <- linear_whole. apply linear_cut_nonneg; auto; lra. }
  assert (Zt : zl <= zt).
  { unfold zl, zt. rewrite !denominator_sum. apply sum_le. intros i Hi.
    apply trapezoid_mass_bounds. auto. }
  (* o lies within W of every value *)
  assert (O : forall j, (j <= n)%nat -> Rabs (y j - o) <= W).
  { intros j Hj.
    assert (A : forall c, (forall i, (i <= n)%nat -> y i <= c) -> o <= c).
    { intros c Hc. unfold o, output. fold zl. apply Rmult_le_reg_r with zl; [exact HZ|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      rewrite Nl. unfold zl. rewrite denominator_sum, <- sum_scal. apply sum_le. intros i Hi.
      destruct (LN i Hi) as (L & R & _). unfold mass.
      pose proof (Rmult_le_compat_l _ _ _ L (Hc i ltac:(lia))).
      pose proof (Rmult_le_compat_l _ _ _ R (Hc (S i) ltac:(lia))). lra. }
    assert (B : forall c, (forall i, (i <= n)%nat -> c <= y i) -> c <= o).
    { intros c Hc. unfold o, output. fold zl. apply Rmult_le_reg_r with zl; [exact HZ|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      rewrite Nl. unfold zl. rewrite denominator_sum, <- sum_scal. apply sum_le. intros i Hi.
      destruct (LN i Hi) as (L & R & _). unfold mass.
      pose proof (Rmult_le_compat_l _ _ _ L (Hc i ltac:(lia))).
      pose proof (Rmult_le_compat_l _ _ _ R (Hc (S i) ltac:(lia))). lra. }
    apply Rabs_le_between. split.
    - assert (o <= y j + W); [|lra]. apply A. intros i Hi. pose proof (HW i j Hi Hj). lra.
    - assert (y j - W <= o); [|lra]. apply B. intros i Hi. pose proof (HW j i Hj Hi). lra. }
  (* the difference as a sum over segments *)
  set (w := fun i => y i - o).
  assert (EL : numerator (linear_line D a) 0 0 w n = 0).
  { assert (H : numerator (linear_line D a) 0 0 w n
                = numerator (linear_line D a) 0 0 y n - o * zl).
    { unfold zl. rewrite denominator_sum, !Nl, <- sum_scal, <- sum_minus. apply sum_ext.
      intros. unfold w, mass. ring. }
    rewrite H. unfold o, output. fold zl. field. lra. }
  assert (ET : output (trapezoid_line D a) y n - o
               = (numerator (trapezoid_line D a) 0 0 w n - numerator (linear_line D a) 0 0 w n) / zt).
  { rewrite EL.
    assert (H : numerator (trapezoid_line D a) 0 0 w n
                = numerator (trapezoid_line D a) 0 0 y n - o * zt).
    { unfold zt. rewrite denominator_sum, !Nt, <- sum_scal, <- sum_minus. apply sum_ext.
      intros. unfold w, mass. ring. }
    rewrite H. unfold output. fold zt. field. lra. }
  rewrite ET, Nl, Nt, <- sum_minus. clear ET EL.
  unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_right (/ zt)).
  2:{ apply Rle_ge. left. apply Rinv_0_lt_compat. lra. }
  apply Rmult_le_reg_r with zt; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  eapply Rle_trans; [apply sum_abs|].
  apply Rle_trans with (sum (fun i => (X ^ 2 * W + 2 * X * V) / 8 * mass (linear_line D a i)) n).
  2:{ rewrite sum_scal. rewrite <- denominator_sum. fold zl. apply Rmult_le_compat_l; [|exact Zt].
      pose proof (pow2_ge_0 X). assert (0 <= X ^ 2 * W) by (apply Rmult_le_pos; lra).
      assert (0 <= X * V) by (apply Rmult_le_pos; lra). lra. }
  apply sum_le. intros i Hi.
  unfold trapezoid_line, linear_line at 1 2.
  rewrite trapezoid_minus_linear.
  set (x := a (S i) - a i).
  assert (Bd : forall s, 0 < s < 1 ->
    Rabs (x ^ 2 * lerp (w i) (w (S i)) s + 2 * x * (w (S i) - w i)) <= X ^ 2 * W + 2 * X * V).
  { intros s Hs. pose proof (O i ltac:(lia)) as Oi. pose proof (O (S i) ltac:(lia)) as Os.
    pose proof (HX i Hi) as Xi. fold x in Xi. pose proof (HV i Hi) as Vi.
    replace (w (S i) - w i) with (y (S i) - y i) by (unfold w; ring).
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat.
    - rewrite Rabs_mult, <- RPow_abs. apply Rmult_le_compat.
      + apply pow_le, Rabs_pos.
      + apply Rabs_pos.
      + apply pow_incr. split; [apply Rabs_pos | exact Xi].
      + unfold lerp. fold (w i) in Oi. change (y (S i) - o) with (w (S i)) in Os.
        change (y i - o) with (w i) in Oi.
        apply Rabs_le_between in Oi. apply Rabs_le_between in Os.
        apply Rabs_le_between. nra.
    - rewrite !Rabs_mult, (Rabs_right 2) by lra. apply Rmult_le_compat; try lra.
      + apply Rmult_le_pos; [lra | apply Rabs_pos].
      + apply Rabs_pos. }
  set (B := X ^ 2 * W + 2 * X * V) in *.
  set (g := fun s => s * (1 - s) * (x ^ 2 * lerp (w i) (w (S i)) s + 2 * x * (w (S i) - w i))).
  assert (CG : cts g) by (unfold g; pose proof (cts_lerp (w i) (w (S i))); cts).
  assert (UP : moment (a i) (a (S i)) 0 1 g <= B * moment (a i) (a (S i)) 0 1 (fun s => s * (1 - s))).
  { replace (B * moment (a i) (a (S i)) 0 1 (fun s => s * (1 - s)))
      with (moment (a i) (a (S i)) 0 1 (fun s => B * (s * (1 - s)) + 0 * 1)).
    2:{ rewrite (moment_lin _ _ _ _ (fun s => s * (1 - s)) (fun _ => 1)) by cts. ring. }
    apply moment_le; [lra | exact CG | cts |]. intros s Hs.
    pose proof (Bd s Hs) as H. apply Rabs_le_between in H.
    assert (0 <= s * (1 - s)) by (apply Rmult_le_pos; lra). unfold g. nra. }
  assert (DN : - B * moment (a i) (a (S i)) 0 1 (fun s => s * (1 - s)) <= moment (a i) (a (S i)) 0 1 g).
  { replace (- B * moment (a i) (a (S i)) 0 1 (fun s => s * (1 - s)))
      with (moment (a i) (a (S i)) 0 1 (fun s => - B * (s * (1 - s)) + 0 * 1)).
    2:{ rewrite (moment_lin _ _ _ _ (fun s => s * (1 - s)) (fun _ => 1)) by cts. ring. }
    apply moment_le; [lra | cts | exact CG |]. intros s Hs.
    pose proof (Bd s Hs) as H. apply Rabs_le_between in H.
    assert (0 <= s * (1 - s)) by (apply Rmult_le_pos; lra). unfold g. nra. }
  pose proof (linear_coupling_le (D i) (a i) (a (S i)) (HD i Hi)) as C4.
  rewrite linear_integral in C4 at 1. cbn [coupling] in C4. fold (linear_line D a i) in C4.
  set (h := moment (a i) (a (S i)) 0 1 (fun s => s * (1 - s))) in *.
  pose proof (HD i Hi) as Di.
  assert (B0 : 0 <= B).
  { eapply Rle_trans; [apply Rabs_pos | apply (Bd (1/2)); lra]. }
  apply Rabs_le_between. split.
  - apply Rle_trans with (D i / 2 * (- B * h)).
    + assert (B * (D i * h) <= B * (mass (linear_line D a i) / 4)) by (apply Rmult_le_compat_l; lra). lra.
    + apply Rmult_le_compat_l; lra.
  - apply Rle_trans with (D i / 2 * (B * h)).
    + apply Rmult_le_compat_l; lra.
    + assert (B * (D i * h) <= B * (mass (linear_line D a i) / 4)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** [trapezoid] 0 <= lse_Trapezoid - lse_Linear <= X^2/8. *)
Theorem trapezoid_lse_error D a n X :
  (forall i, (i < n)%nat -> 0 <= D i) -> 0 < denominator (linear_line D a) 0 0 n ->
  (forall i, (i < n)%nat -> Rabs (a (S i) - a i) <= X) ->
  0 <= ln (denominator (trapezoid_line D a) 0 0 n) - ln (denominator (linear_line D a) 0 0 n)
    <= X ^ 2 / 8.
Proof.
  intros HD HZ HX.
  set (zl := denominator (linear_line D a) 0 0 n) in *.
  set (zt := denominator (trapezoid_line D a) 0 0 n).
  assert (L : zl <= zt).
  { unfold zl, zt. rewrite !denominator_sum. apply sum_le. intros i Hi.
    apply trapezoid_mass_bounds. auto. }
  assert (U : zt <= zl * (1 + X ^ 2 / 8)).
  { unfold zl, zt. rewrite !denominator_sum, Rmult_comm, <- sum_scal. apply sum_le. intros i Hi.
    destruct (trapezoid_mass_bounds (D i) (a i) (a (S i)) (HD i Hi)) as [_ B].
    eapply Rle_trans; [exact B|]. rewrite Rmult_comm. apply Rmult_le_compat_r.
    - unfold linear_line, mass. rewrite <- linear_whole.
      destruct (linear_cut_nonneg (D i) (a i) (a (S i)) 0 1 (HD i Hi) ltac:(lra) ltac:(lra)
        ltac:(lra)) as (? & ? & _). lra.
    - pose proof (HX i Hi) as Xi. rewrite <- (pow2_abs (a (S i) - a i)).
      assert (Rabs (a (S i) - a i) ^ 2 <= X ^ 2) by (apply pow_incr; split; [apply Rabs_pos | exact Xi]).
      lra. }
  pose proof (pow2_ge_0 X) as X2. split.
  - pose proof (ln_le zl zt HZ L). lra.
  - assert (E : ln zt <= ln (zl * (1 + X ^ 2 / 8))) by (apply ln_le; lra).
    rewrite ln_mult in E by lra.
    assert (ln (1 + X ^ 2 / 8) <= X ^ 2 / 8).
    { rewrite <- (ln_exp (X ^ 2 / 8)) at 2. apply ln_le; [lra | apply exp_ge_1p]. }
    lra.
Qed.

(** [trapezoid] On the unit time line Trapezoid gives e^{a_i} to inner nodes and half of it to the two ends:
    the bias 0, or -log 2, of the Taylor series of order 0. *)
Theorem trapezoid_nodes a m i : (i <= S m)%nat ->
  node_mass (trapezoid_line (fun _ => 1) a) 0 0 (S m) i
  = exp (a i) * (if Nat.eqb i 0 then 1 / 2 else if Nat.eqb i (S m) then 1 / 2 else 1).
Proof.
  intros L. unfold node_mass, from_left, from_right, trapezoid_line, trapezoid. cbn [left right].
  destruct i as [|j].
  - simpl Nat.eqb. cbv iota. field.
  - change (Nat.eqb (S j) 0) with false. cbv iota. destruct (Nat.eqb (S j) (S m)); field.
Qed.

(** [trapezoid] The Linear output of a line, durations >= 0, is continuous attention over its whole window. *)
Theorem linear_output_is_attention scale d q K V tau n c : timeline tau n ->
  output (linear_line (duration tau) (score scale d q K)) (fun i => V i c) n
  = attention scale d q K V tau n (tau 0%nat) (tau n) c.
Proof.
  intros T. pose proof (timeline_le tau n 0 n T ltac:(lia) ltac:(lia)) as W.
  rewrite attention_nodes by auto. set (a := score scale d q K).
  destruct (held_full tau a n T) as [HB HA].
  unfold P. rewrite HB, HA.
  rewrite <- (eq9_rearrange (visible tau a (tau 0%nat) (tau n)) 0 0 n (fun i => V i c)).
  rewrite node_mass_total.
  unfold output, numerator, denominator. unfold Rdiv; apply f_equal2; [|apply f_equal].
  - f_equal. f_equal. apply sum_ext. intros i Hi.
    rewrite visible_full by auto. reflexivity.
  - f_equal. f_equal. apply sum_ext. intros i Hi.
    rewrite visible_full by auto. reflexivity.
Qed.
