(** * Gradient: derivatives of the output and of log Z

    With upstream g for o and g_lse for log Z, write y_i = g . v_i and
    G_i = (y_i - g.o + g_lse) / Z.  Then for every rule whose shares respond to
    the scores through the coupling alone (Segment.v proves it of Linear, Step
    and Trapezoid, whole or cut),
      dL/da_i = P_i G_i + h_{i+1} (G_{i+1} - G_i) - h_i (G_i - G_{i-1}),
    softmax's gradient plus a discrete diffusion. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment SegmentDerivatives Sums Curve Attention.
Open Scope R_scope.

(** ** The loss of a run of segments *)

(** Numerator, denominator and loss of segments p 0 .. p (n-1) with held parts
    [before] and [after], for the projected values y_i = g . v_i. *)
Definition numerator (p : nat -> shares) (before after : R) (y : nat -> R) (n : nat) : R :=
  before * y 0%nat + sum (fun i => left (p i) * y i + right (p i) * y (S i)) n + after * y n.
Definition denominator (p : nat -> shares) (before after : R) (n : nat) : R :=
  before + sum (fun i => mass (p i)) n + after.
Definition loss (p : nat -> shares) (before after : R) (y : nat -> R) (g_lse : R) (n : nat) : R :=
  numerator p before after y n / denominator p before after n
  + g_lse * ln (denominator p before after n).
(** G_i. *)
Definition adjoint (p : nat -> shares) (before after : R) (y : nat -> R) (g_lse : R) (n i : nat) : R :=
  (y i - numerator p before after y n / denominator p before after n + g_lse)
  / denominator p before after n.

Lemma numerator_one p before after n :
  numerator p before after (fun _ => 1) n = denominator p before after n.
Proof.
  unfold numerator, denominator, mass. rewrite !Rmult_1_r. f_equal. f_equal.
  apply sum_ext. intros. ring.
Qed.

Lemma numerator_nodes p before after y n :
  numerator p before after y n = sum (fun i => node_mass p before after n i * y i) (S n).
Proof. exact (eq9_rearrange p before after n y). Qed.

(** [gradient] Chain rule: however the shares move, g.o + g_lse log Z changes by the sum of
    each share's rate times the G of the node that receives it. *)
Theorem loss_derivative (p : R -> nat -> shares) (before after : R -> R) y g_lse n x
    (dL dR : nat -> R) (db da : R) :
  0 < denominator (p x) (before x) (after x) n ->
  (forall i, (i < n)%nat -> is_derive (fun t => left (p t i)) x (dL i)) ->
  (forall i, (i < n)%nat -> is_derive (fun t => right (p t i)) x (dR i)) ->
  is_derive before x db -> is_derive after x da ->
  let G := adjoint (p x) (before x) (after x) y g_lse n in
  is_derive (fun t => loss (p t) (before t) (after t) y g_lse n) x
    (db * G 0%nat + sum (fun i => dL i * G i + dR i * G (S i)) n + da * G n).
Proof.
  intros HZ HL HR HB HA G.
  assert (N : forall w : nat -> R, is_derive (fun t => numerator (p t) (before t) (after t) w n) x
    (db * w 0%nat + sum (fun i => dL i * w i + dR i * w (S i)) n + da * w n)).
  { intros w. unfold numerator.
    apply (is_derive_plus_R (fun t => before t * w 0%nat
      + sum (fun i => left (p t i) * w i + right (p t i) * w (S i)) n) (fun t => after t * w n)).
    apply (is_derive_plus_R (fun t => before t * w 0%nat)
      (fun t => sum (fun i => left (p t i) * w i + right (p t i) * w (S i)) n)).
    - apply (is_derive_eq _ _ (db * w 0%nat + before x * 0)); [|ring].
      apply (is_derive_mult_R before (fun _ => w 0%nat)); [exact HB | apply is_derive_const_R].
    - apply (is_derive_sum (fun i t => left (p t i) * w i + right (p t i) * w (S i))).
      intros i Hi.
      apply (is_derive_eq _ _ ((dL i * w i + left (p x i) * 0) + (dR i * w (S i) + right (p x i) * 0)));
        [|ring].
      apply (is_derive_plus_R (fun t => left (p t i) * w i) (fun t => right (p t i) * w (S i))).
      + apply (is_derive_mult_R (fun t => left (p t i)) (fun _ => w i));
          [now apply HL | apply is_derive_const_R].
      + apply (is_derive_mult_R (fun t => right (p t i)) (fun _ => w (S i)));
          [now apply HR | apply is_derive_const_R].
    - apply (is_derive_eq _ _ (da * w n + after x * 0)); [|ring].
      apply (is_derive_mult_R after (fun _ => w n)); [exact HA | apply is_derive_const_R]. }
  pose proof (N y) as Ny. pose proof (N (fun _ => 1)) as N1. clear N.
  set (dN := db * y 0%nat + sum (fun i => dL i * y i + dR i * y (S i)) n + da * y n) in *.
  set (dZ := db * 1 + sum (fun i => dL i * 1 + dR i * 1) n + da * 1) in *.
  set (z := denominator (p x) (before x) (after x) n) in *.
  set (o := numerator (p x) (before x) (after x) y n / z) in *.
  assert (DZ : is_derive (fun t => denominator (p t) (before t) (after t) n) x dZ).
  { apply (is_derive_ext_R (fun t => numerator (p t) (before t) (after t) (fun _ => 1) n)).
    - intros t. apply numerator_one.
    - exact N1. }
  apply (is_derive_eq _ _ ((dN - o * dZ) / z + g_lse * (dZ / z))).
  - unfold loss. apply (is_derive_plus_R (fun t => numerator (p t) (before t) (after t) y n
        / denominator (p t) (before t) (after t) n)
        (fun t => g_lse * ln (denominator (p t) (before t) (after t) n))).
    + apply (is_derive_quotient (fun t => numerator (p t) (before t) (after t) y n)
        (fun t => denominator (p t) (before t) (after t) n)); auto.
      fold z. lra.
    + apply is_derive_scal_R.
      apply (is_derive_ln_R (fun t => denominator (p t) (before t) (after t) n)); auto.
  - assert (GE : forall i, G i = / z * y i + (g_lse - o) / z * 1).
    { intros i. unfold G, adjoint. fold z. fold o. field. lra. }
    rewrite (sum_ext (fun i => dL i * G i + dR i * G (S i))
      (fun i => / z * (dL i * y i + dR i * y (S i)) + (g_lse - o) / z * (dL i * 1 + dR i * 1)))
      by (intros; rewrite !GE; ring).
    rewrite sum_plus, !sum_scal, !GE. unfold dN, dZ. field. lra.
Qed.

(** ** Diffusion *)

Definition flux (h G : nat -> R) (i : nat) : R := h i * (G (S i) - G i).
(** h_{i+1} (G_{i+1} - G_i) - h_i (G_i - G_{i-1}); here segment i joins node i to node i+1. *)
Definition diffusion (h G : nat -> R) (n i : nat) : R :=
  (if Nat.eqb i n then 0 else flux h G i) - match i with O => 0 | S j => flux h G j end.

Lemma diffusion_parts h G e n :
  sum (fun i => flux h G i * (e (S i) - e i)) n = - sum (fun i => e i * diffusion h G n i) (S n).
Proof.
  pose proof (eq9_rearrange (fun i => Shares (- flux h G i) (flux h G i) 0) 0 0 n e) as R.
  cbn [left right] in R.
  rewrite (sum_ext _ (fun i => - flux h G i * e i + flux h G i * e (S i))) by (intros; ring).
  transitivity (0 * e 0%nat + sum (fun i => - flux h G i * e i + flux h G i * e (S i)) n + 0 * e n);
    [ring|]. rewrite R.
  rewrite (sum_ext _ (fun i => -1 * (e i * diffusion h G n i))).
  - rewrite sum_scal. ring.
  - intros i _. unfold node_mass, from_left, from_right, diffusion. cbn [left right].
    destruct i; destruct (Nat.eqb _ n); ring.
Qed.
Lemma diffusion_total h G n : sum (diffusion h G n) (S n) = 0.
Proof.
  pose proof (diffusion_parts h G (fun _ => 1) n) as E.
  rewrite (sum_0 (fun i => flux h G i * (1 - 1))) in E by (intros; ring).
  rewrite (sum_ext (fun i => 1 * diffusion h G n i) (diffusion h G n)) in E by (intros; ring). lra.
Qed.
(** Summation by parts moves the diffusion from one factor to the other. *)
Lemma diffusion_symmetric h G e n :
  sum (fun i => e i * diffusion h G n i) (S n) = sum (fun i => G i * diffusion h e n i) (S n).
Proof.
  pose proof (diffusion_parts h G e n) as A. pose proof (diffusion_parts h e G n) as B.
  rewrite (sum_ext _ (fun i => flux h e i * (G (S i) - G i))) in A by (intros; unfold flux; ring).
  lra.
Qed.

(** ** A line of segments as a function of the scores *)

(** Segment i has the rule [r i] and the duration [D i]; [cb] and [ca] are the
    lengths of the held parts before the first and after the last node. *)
Definition line_shares (r : nat -> rule) (D a : nat -> R) (i : nat) : shares :=
  r i (D i) (a i) (a (S i)).
Definition line_mass (r : nat -> rule) (D : nat -> R) (cb ca : R) (n : nat) (a : nat -> R) (i : nat) : R :=
  node_mass (line_shares r D a) (cb * exp (a 0%nat)) (ca * exp (a n)) n i.
Definition line_total (r : nat -> rule) (D : nat -> R) (cb ca : R) (n : nat) (a : nat -> R) : R :=
  denominator (line_shares r D a) (cb * exp (a 0%nat)) (ca * exp (a n)) n.
Definition line_loss (r : nat -> rule) (D : nat -> R) (cb ca : R) (n : nat) (a : nat -> R)
    (y : nat -> R) (g_lse : R) : R :=
  loss (line_shares r D a) (cb * exp (a 0%nat)) (ca * exp (a n)) y g_lse n.
Definition line_adjoint (r : nat -> rule) (D : nat -> R) (cb ca : R) (n : nat) (a : nat -> R)
    (y : nat -> R) (g_lse : R) (i : nat) : R :=
  adjoint (line_shares r D a) (cb * exp (a 0%nat)) (ca * exp (a n)) y g_lse n i.
Definition line_coupling (r : nat -> rule) (D a : nat -> R) (i : nat) : R :=
  coupling (line_shares r D a i).
(** dL/da_i. *)
Definition score_gradient (r : nat -> rule) (D : nat -> R) (cb ca : R) (n : nat) (a : nat -> R)
    (y : nat -> R) (g_lse : R) (i : nat) : R :=
  let G := line_adjoint r D cb ca n a y g_lse in
  line_mass r D cb ca n a i * G i + diffusion (line_coupling r D a) G n i.

(** Scores that move at the rates e. *)
Definition along (a e : nat -> R) (x : R) : nat -> R := fun j => a j + x * e j.

Lemma held_derive c a e x : is_derive (fun y => c * exp (a + y * e)) x (c * exp (a + x * e) * e).
Proof. deriv. Qed.

(** [gradient] dP_i = P_i da_i + h_{i+1} (da_{i+1} - da_i) - h_i (da_i - da_{i-1}), for every
    rule with the law above. *)
Theorem mass_derivative r D cb ca n a e x i :
  (forall j, (j < n)%nat -> score_derivatives (r j)) -> (i <= n)%nat ->
  is_derive (fun t => line_mass r D cb ca n (along a e t) i) x
    (line_mass r D cb ca n (along a e x) i * e i
     + diffusion (line_coupling r D (along a e x)) e n i).
Proof.
  intros H L. unfold line_mass, node_mass.
  set (b := along a e x).
  apply (is_derive_eq _ _
    ((from_left (line_shares r D b) (cb * exp (b 0%nat)) i * e i
       - match i with O => 0 | S j => flux (line_coupling r D b) e j end)
     + (from_right (line_shares r D b) (ca * exp (b n)) n i * e i
       + (if Nat.eqb i n then 0 else flux (line_coupling r D b) e i)))).
  2:{ unfold diffusion. ring. }
  apply (is_derive_plus_R
    (fun t => from_left (line_shares r D (along a e t)) (cb * exp (along a e t 0%nat)) i)
    (fun t => from_right (line_shares r D (along a e t)) (ca * exp (along a e t n)) n i)).
  - unfold from_left. destruct i as [|j].
    + apply (is_derive_eq _ _ _ _ (held_derive cb (a 0%nat) (e 0%nat) x)). unfold b, along. ring.
    + destruct (H j ltac:(lia) (D j) (a j) (a (S j)) (e j) (e (S j)) x) as [_ HR].
      apply (is_derive_eq _ _ _ _ HR). unfold b, flux, line_coupling, line_shares, along. ring.
  - unfold from_right. destruct (Nat.eqb_spec i n) as [->|N].
    + apply (is_derive_eq _ _ _ _ (held_derive ca (a n) (e n) x)). unfold b, along. ring.
    + destruct (H i ltac:(lia) (D i) (a i) (a (S i)) (e i) (e (S i)) x) as [HL _].
      apply (is_derive_eq _ _ _ _ HL). unfold b, flux, line_coupling, line_shares, along. ring.
Qed.

(** [gradient] For every such rule and direction e of the scores: dL = sum_i e_i dL/da_i with
    dL/da_i = P_i G_i + h_{i+1} (G_{i+1} - G_i) - h_i (G_i - G_{i-1}). *)
Theorem gradient_scores r D cb ca n a e x y g_lse :
  (forall j, (j < n)%nat -> score_derivatives (r j)) ->
  0 < line_total r D cb ca n (along a e x) ->
  is_derive (fun t => line_loss r D cb ca n (along a e t) y g_lse) x
    (sum (fun i => e i * score_gradient r D cb ca n (along a e x) y g_lse i) (S n)).
Proof.
  intros H HZ. set (b := along a e x) in *.
  set (h := line_coupling r D b).
  set (G := line_adjoint r D cb ca n b y g_lse).
  eapply is_derive_eq.
  - apply (loss_derivative (fun t => line_shares r D (along a e t))
      (fun t => cb * exp (along a e t 0%nat)) (fun t => ca * exp (along a e t n)) y g_lse n x
      (fun i => (left (line_shares r D b i) - h i) * e i + h i * e (S i))
      (fun i => h i * e i + (right (line_shares r D b i) - h i) * e (S i))
      (cb * exp (b 0%nat) * e 0%nat) (ca * exp (b n) * e n) HZ).
    + intros i Hi. destruct (H i Hi (D i) (a i) (a (S i)) (e i) (e (S i)) x) as [HL _]. exact HL.
    + intros i Hi. destruct (H i Hi (D i) (a i) (a (S i)) (e i) (e (S i)) x) as [_ HR]. exact HR.
    + apply held_derive.
    + apply held_derive.
  - change (adjoint _ _ _ y g_lse n) with G. fold b.
    rewrite (sum_ext (fun i => ((left (line_shares r D b i) - h i) * e i + h i * e (S i)) * G i
        + (h i * e i + (right (line_shares r D b i) - h i) * e (S i)) * G (S i))
      (fun i => (left (line_shares r D b i) * (e i * G i)
                 + right (line_shares r D b i) * (e (S i) * G (S i)))
                + -1 * (flux h G i * (e (S i) - e i)))) by (intros; unfold flux; ring).
    rewrite sum_plus, sum_scal, diffusion_parts.
    transitivity ((cb * exp (b 0%nat)) * (e 0%nat * G 0%nat)
      + sum (fun i => left (line_shares r D b i) * (e i * G i)
                      + right (line_shares r D b i) * (e (S i) * G (S i))) n
      + (ca * exp (b n)) * (e n * G n)
      + sum (fun i => e i * diffusion h G n i) (S n)); [ring|].
    rewrite (eq9_rearrange (line_shares r D b) (cb * exp (b 0%nat)) (ca * exp (b n)) n
      (fun i => e i * G i)).
    rewrite <- sum_plus. apply sum_ext. intros i _.
    unfold score_gradient, line_mass. fold G h. ring.
Qed.

(** [gradient] dL/da_i = P_i G_i + h_{i+1} (G_{i+1} - G_i) - h_i (G_i - G_{i-1}). *)
Theorem gradient_one_score r D cb ca n a y g_lse j :
  (forall i, (i < n)%nat -> score_derivatives (r i)) -> (j <= n)%nat ->
  0 < line_total r D cb ca n (along a (delta j) 0) ->
  is_derive (fun t => line_loss r D cb ca n (along a (delta j) t) y g_lse) 0
    (score_gradient r D cb ca n (along a (delta j) 0) y g_lse j).
Proof.
  intros H L HZ. apply (is_derive_eq _ _ _ _ (gradient_scores r D cb ca n a (delta j) 0 y g_lse H HZ)).
  rewrite (sum_ext _ (fun i => score_gradient r D cb ca n (along a (delta j) 0) y g_lse i * delta j i))
    by (intros; ring).
  apply sum_delta. lia.
Qed.

(** [gradient] Without couplings (Step, so softmax, and Trapezoid) dL/da_i = P_i G_i. *)
Theorem gradient_without_coupling r D cb ca n a y g_lse i :
  (forall j, line_coupling r D a j = 0) ->
  score_gradient r D cb ca n a y g_lse i
  = line_mass r D cb ca n a i * line_adjoint r D cb ca n a y g_lse i.
Proof.
  intros H. unfold score_gradient, diffusion, flux.
  destruct i as [|j]; destruct (Nat.eqb _ n); rewrite ?H; ring.
Qed.

(** [gradient] The scores' gradient sums to g_lse: a shift of all scores moves log Z alone. *)
Theorem gradient_total r D cb ca n a y g_lse : 0 < line_total r D cb ca n a ->
  sum (score_gradient r D cb ca n a y g_lse) (S n) = g_lse.
Proof.
  intros HZ. unfold score_gradient. rewrite sum_plus, diffusion_total, Rplus_0_r.
  unfold line_mass. rewrite <- eq9_rearrange. unfold line_total in HZ.
  set (p := line_shares r D a) in *. set (b := cb * exp (a 0%nat)) in *.
  set (f := ca * exp (a n)) in *. set (z := denominator p b f n) in *.
  set (k := (g_lse - numerator p b f y n / z) / z).
  assert (GE : forall i, line_adjoint r D cb ca n a y g_lse i = / z * y i + k).
  { intros i. unfold line_adjoint, adjoint, k. fold p b f z. field. lra. }
  rewrite (sum_ext (fun i => left (p i) * line_adjoint r D cb ca n a y g_lse i
      + right (p i) * line_adjoint r D cb ca n a y g_lse (S i))
    (fun i => / z * (left (p i) * y i + right (p i) * y (S i)) + k * mass (p i)))
    by (intros; rewrite !GE; unfold mass; ring).
  rewrite sum_plus, !sum_scal, !GE.
  transitivity (/ z * numerator p b f y n + k * z); [unfold numerator, z, denominator; ring|].
  unfold k. field. lra.
Qed.

(** ** Durations *)

(** A rule that is proportional to the duration: Linear, Step, Trapezoid, whole or cut. *)
Definition duration_linear (r : rule) : Prop := forall D a0 a1,
  left (r D a0 a1) = D * left (r 1 a0 a1) /\ right (r D a0 a1) = D * right (r 1 a0 a1).

(** [gradient] The shares of Linear, whole or cut, are proportional to the duration. *)
Theorem cut_linear_duration_linear alpha beta : duration_linear (cut linear alpha beta).
Proof. intros D a0 a1. unfold cut, linear. cbn [left right]. split; ring. Qed.

(** [gradient] The shares of Trapezoid, whole or cut, are proportional to the duration. *)
Theorem cut_trapezoid_duration_linear alpha beta : duration_linear (cut trapezoid alpha beta).
Proof. intros D a0 a1. unfold cut, trapezoid. cbn [left right]. split; field. Qed.

(** [gradient] The shares of Step, whole or cut, are proportional to the duration. *)
Theorem step_duration_linear alpha beta : duration_linear (cut_step alpha beta).
Proof. intros D a0 a1. unfold cut_step. cbn [left right]. split; ring. Qed.

(** [gradient] dL/dD_i = l_i G_{i-1} + r_i G_i with the shares l, r per unit of duration, edges
    staying at their fractions; D_i = 0 is allowed. *)
Theorem gradient_durations r D E cb ca n a y g_lse x :
  (forall j, (j < n)%nat -> duration_linear (r j)) ->
  0 < line_total r (along D E x) cb ca n a ->
  let G := line_adjoint r (along D E x) cb ca n a y g_lse in
  is_derive (fun t => line_loss r (along D E t) cb ca n a y g_lse) x
    (sum (fun i => E i * (left (r i 1 (a i) (a (S i))) * G i
                          + right (r i 1 (a i) (a (S i))) * G (S i))) n).
Proof.
  intros H HZ G. eapply is_derive_eq.
  - apply (loss_derivative (fun t => line_shares r (along D E t) a)
      (fun t => cb * exp (a 0%nat)) (fun t => ca * exp (a n)) y g_lse n x
      (fun i => E i * left (r i 1 (a i) (a (S i)))) (fun i => E i * right (r i 1 (a i) (a (S i))))
      0 0 HZ).
    + intros i Hi. unfold line_shares, along.
      apply (is_derive_ext_R (fun t => (D i + t * E i) * left (r i 1 (a i) (a (S i))))).
      { intros t. symmetry. apply H. exact Hi. }
      deriv.
    + intros i Hi. unfold line_shares, along.
      apply (is_derive_ext_R (fun t => (D i + t * E i) * right (r i 1 (a i) (a (S i))))).
      { intros t. symmetry. apply H. exact Hi. }
      deriv.
    + apply is_derive_const_R.
    + apply is_derive_const_R.
  - change (adjoint _ _ _ y g_lse n) with G. rewrite !Rmult_0_l, Rplus_0_l, Rplus_0_r.
    apply sum_ext. intros. ring.
Qed.

(** [gradient] Edges that move inside a segment add e^{a(beta)} G(beta) D dbeta - e^{a(alpha)}
    G(alpha) D dalpha, G(edge) = (g.v(edge) - g.o + g_lse)/Z. *)
Theorem gradient_moving_edges (p : nat -> shares) before after y g_lse n j
    (D alpha beta : R -> R) a0 a1 x dD dalpha dbeta : (j < n)%nat ->
  is_derive D x dD -> is_derive alpha x dalpha -> is_derive beta x dbeta ->
  let q t i := if Nat.eqb i j then cut linear (alpha t) (beta t) (D t) a0 a1 else p i in
  0 < denominator (q x) before after n ->
  let G := adjoint (q x) before after y g_lse n in
  is_derive (fun t => loss (q t) before after y g_lse n) x
    (dD * (left (cut linear (alpha x) (beta x) 1 a0 a1) * G j
           + right (cut linear (alpha x) (beta x) 1 a0 a1) * G (S j))
     + exp (lerp a0 a1 (beta x)) * lerp (G j) (G (S j)) (beta x) * (D x * dbeta)
     - exp (lerp a0 a1 (alpha x)) * lerp (G j) (G (S j)) (alpha x) * (D x * dalpha)).
Proof.
  intros L HD HA HB q HZ G.
  destruct (linear_moving_edges D alpha beta a0 a1 x dD dalpha dbeta HD HA HB) as [ML MR].
  set (l := dD * left (cut linear (alpha x) (beta x) 1 a0 a1)
     + D x * (exp (lerp a0 a1 (beta x)) * (1 - beta x) * dbeta
              - exp (lerp a0 a1 (alpha x)) * (1 - alpha x) * dalpha)) in *.
  set (r := dD * right (cut linear (alpha x) (beta x) 1 a0 a1)
     + D x * (exp (lerp a0 a1 (beta x)) * beta x * dbeta
              - exp (lerp a0 a1 (alpha x)) * alpha x * dalpha)) in *.
  eapply is_derive_eq.
  - apply (loss_derivative q (fun _ => before) (fun _ => after) y g_lse n x
      (fun i => l * delta j i) (fun i => r * delta j i) 0 0 HZ).
    + intros i Hi. unfold q. destruct (Nat.eqb_spec i j) as [->|N].
      * rewrite delta_same, Rmult_1_r. exact ML.
      * rewrite delta_other, Rmult_0_r by auto. apply is_derive_const_R.
    + intros i Hi. unfold q. destruct (Nat.eqb_spec i j) as [->|N].
      * rewrite delta_same, Rmult_1_r. exact MR.
      * rewrite delta_other, Rmult_0_r by auto. apply is_derive_const_R.
    + apply is_derive_const_R.
    + apply is_derive_const_R.
  - cbv zeta. change (adjoint (q x) before after y g_lse n) with G.
    rewrite (sum_ext _ (fun i => (l * G i + r * G (S i)) * delta j i)) by (intros; ring).
    rewrite sum_delta by exact L. unfold l, r, lerp. ring.
Qed.

(** [gradient] An edge that moves in a part held constant adds e^{a_n} G_n (or e^{a_0} G_0)
    times the rate of that part's length. *)
Theorem gradient_held_edges (p : nat -> shares) (cb ca : R -> R) y g_lse n a0 an x db da :
  is_derive cb x db -> is_derive ca x da ->
  0 < denominator p (cb x * exp a0) (ca x * exp an) n ->
  let G := adjoint p (cb x * exp a0) (ca x * exp an) y g_lse n in
  is_derive (fun t => loss p (cb t * exp a0) (ca t * exp an) y g_lse n) x
    (exp a0 * G 0%nat * db + exp an * G n * da).
Proof.
  intros HB HA HZ G. eapply is_derive_eq.
  - apply (loss_derivative (fun _ => p) (fun t => cb t * exp a0) (fun t => ca t * exp an)
      y g_lse n x (fun _ => 0) (fun _ => 0) (db * exp a0) (da * exp an) HZ).
    + intros; apply is_derive_const_R.
    + intros; apply is_derive_const_R.
    + apply (is_derive_eq _ _ (db * exp a0 + cb x * 0)); [|ring].
      apply (is_derive_mult_R cb (fun _ => exp a0)); [exact HB | apply is_derive_const_R].
    + apply (is_derive_eq _ _ (da * exp an + ca x * 0)); [|ring].
      apply (is_derive_mult_R ca (fun _ => exp an)); [exact HA | apply is_derive_const_R].
  - change (adjoint _ _ _ y g_lse n) with G. rewrite sum_0 by (intros; ring). ring.
Qed.
