(** * Refinement: Step and Trapezoid approach Linear as the sampling is refined

    Step is off by a term of first order in the changes of score and value over
    a segment, Trapezoid by one of second order.  For curves with bounded slopes
    that gives the first and the second power of the longest duration. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment Sums Curve Attention Gradient Trapezoid.
Open Scope R_scope.

(** [step] On a segment, Step less Linear is D int_0^1 s e^{a(s)} (x v(s) + (v1 - v0)) ds, exactly. *)
Theorem step_minus_linear D a0 a1 v0 v1 :
  (left (step D a0 a1) * v0 + right (step D a0 a1) * v1)
  - (left (linear D a0 a1) * v0 + right (linear D a0 a1) * v1)
  = D * moment a0 a1 0 1 (fun s => s * ((a1 - a0) * lerp v0 v1 s + (v1 - v0))).
Proof.
  set (x := a1 - a0). set (dv := v1 - v0).
  set (f := fun s => exp (lerp a0 a1 s) * lerp v0 v1 s).
  set (f1 := fun s => exp (lerp a0 a1 s) * (x * lerp v0 v1 s + dv)).
  assert (D1 : forall s, is_derive f s (f1 s)).
  { intros s. apply (is_derive_eq _ _ (exp (lerp a0 a1 s) * x * lerp v0 v1 s + exp (lerp a0 a1 s) * dv)).
    - apply (is_derive_mult_R (fun s => exp (lerp a0 a1 s)) (lerp v0 v1)).
      + apply exp_lerp_derive.
      + apply lerp_derive.
    - unfold f1. ring. }
  assert (CL : cts (lerp v0 v1)) by apply cts_lerp.
  assert (C0 : cts f) by (unfold f; apply cts_moment; exact CL).
  assert (C1 : cts f1) by (unfold f1; apply cts_moment; cts).
  assert (B : is_RInt (fun s => f s + s * f1 s) 0 1 (f 1)).
  { apply (is_RInt_antiderivative (fun s => s * f s)).
    - intros s. apply (is_derive_eq _ _ (1 * f s + s * f1 s)); [|ring].
      apply (is_derive_mult_R (fun s => s) f); [deriv | apply D1].
    - cts.
    - ring. }
  pose proof (is_RInt_moment a0 a1 0 1 (lerp v0 v1) CL) as M.
  pose proof (is_RInt_minus_R _ _ _ _ _ _ B M) as S.
  assert (G : is_RInt (fun s => exp (lerp a0 a1 s) * (s * (x * lerp v0 v1 s + dv))) 0 1
                (f 1 - moment a0 a1 0 1 (lerp v0 v1))).
  { revert S. apply is_RInt_ext_R. intros s _. unfold f, f1. ring. }
  unfold moment at 1. rewrite (is_RInt_value _ _ _ _ G).
  rewrite <- linear_whole, <- linear_cut_value. unfold step. cbn [left right].
  unfold f. rewrite !lerp_1. ring.
Qed.

Definition step_line (D a : nat -> R) (i : nat) : shares := step (D i) (a i) (a (S i)).

(** A run's output lies within W of every value. *)
Lemma output_near (p : nat -> shares) y n W j :
  (forall i, (i < n)%nat -> 0 <= left (p i) /\ 0 <= right (p i)) -> 0 < denominator p 0 0 n ->
  (forall i j, (i <= n)%nat -> (j <= n)%nat -> y i - y j <= W) -> (j <= n)%nat ->
  Rabs (y j - output p y n) <= W.
Proof.
  intros HP HZ HW Hj. unfold output. set (z := denominator p 0 0 n) in *.
  assert (N : y j - numerator p 0 0 y n / z = (y j * z - numerator p 0 0 y n) / z) by (field; lra).
  rewrite N. unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ z)).
  2:{ apply Rle_ge. left. now apply Rinv_0_lt_compat. }
  apply Rmult_le_reg_r with z; [exact HZ|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert (E : y j * z - numerator p 0 0 y n
    = sum (fun i => left (p i) * (y j - y i) + right (p i) * (y j - y (S i))) n).
  { unfold z, numerator, denominator.
    rewrite (sum_ext (fun i => left (p i) * (y j - y i) + right (p i) * (y j - y (S i)))
      (fun i => y j * mass (p i) - (left (p i) * y i + right (p i) * y (S i))))
      by (intros; unfold mass; ring).
    rewrite sum_minus, sum_scal. ring. }
  rewrite E. eapply Rle_trans; [apply sum_abs|].
  assert (Z : W * z = sum (fun i => W * mass (p i)) n).
  { unfold z. rewrite denominator_sum, sum_scal. reflexivity. }
  rewrite Z. apply sum_le. intros i Hi. destruct (HP i Hi) as [L R].
  eapply Rle_trans; [apply Rabs_triang|].
  rewrite !Rabs_mult, (Rabs_right (left (p i))), (Rabs_right (right (p i))) by lra.
  assert (A : forall k, (k <= n)%nat -> Rabs (y j - y k) <= W).
  { intros k Hk. apply Rabs_le. pose proof (HW j k Hj Hk). pose proof (HW k j Hk Hj). lra. }
  pose proof (Rmult_le_compat_l _ _ _ L (A i ltac:(lia))).
  pose proof (Rmult_le_compat_l _ _ _ R (A (S i) ltac:(lia))). unfold mass. lra.
Qed.

(** [step] abs(o_Step - o_Linear) <= X W + V where X bounds the score's change over a segment, V the
    value's, W the distance of two values: first order. *)
Theorem step_output_error D a y n X V W :
  (forall i, (i < n)%nat -> 0 <= D i) -> 0 < denominator (linear_line D a) 0 0 n ->
  (forall i, (i < n)%nat -> Rabs (a (S i) - a i) <= X) ->
  (forall i, (i < n)%nat -> Rabs (y (S i) - y i) <= V) ->
  (forall i j, (i <= n)%nat -> (j <= n)%nat -> y i - y j <= W) ->
  Rabs (output (step_line D a) y n - output (linear_line D a) y n) <= X * W + V.
Proof.
  intros HD HZ HX HV HW.
  assert (LN : forall i, (i < n)%nat -> 0 <= left (linear_line D a i) /\ 0 <= right (linear_line D a i)).
  { intros i Hi. unfold linear_line. rewrite <- linear_whole.
    destruct (linear_cut_nonneg (D i) (a i) (a (S i)) 0 1 (HD i Hi) ltac:(lra) ltac:(lra) ltac:(lra))
      as (? & ? & _). auto. }
  assert (SN : forall i, (i < n)%nat -> 0 <= left (step_line D a i) /\ 0 <= right (step_line D a i)).
  { intros i Hi. unfold step_line, step. cbn [left right]. split; [lra|].
    apply Rmult_le_pos; [auto | left; apply exp_pos]. }
  set (zl := denominator (linear_line D a) 0 0 n) in *.
  set (zs := denominator (step_line D a) 0 0 n).
  assert (HS : 0 < zs).
  { destruct (Rlt_dec 0 zs) as [|N]; auto. exfalso.
    assert (Z0 : forall i, (i < n)%nat -> D i = 0).
    { intros i Hi. destruct (HD i Hi) as [Hp|]; [|auto]. exfalso. apply N. unfold zs.
      rewrite denominator_sum. apply (sum_pos_one _ n i); [|exact Hi|].
      - intros k Hk. destruct (SN k Hk). unfold mass. lra.
      - unfold step_line, step, mass. cbn [left right]. pose proof (exp_pos (a (S i))).
        rewrite Rplus_0_l. now apply Rmult_lt_0_compat. }
    unfold zl in HZ. rewrite denominator_sum, sum_0 in HZ; [lra|].
    intros i Hi. unfold linear_line. rewrite linear_mass, Z0 by exact Hi. ring. }
  set (o := output (step_line D a) y n).
  assert (O : forall j, (j <= n)%nat -> Rabs (y j - o) <= W)
    by (intros; apply (output_near (step_line D a)); auto).
  set (w := fun i => y i - o).
  assert (NS : numerator (step_line D a) 0 0 w n = 0).
  { assert (H : numerator (step_line D a) 0 0 w n = numerator (step_line D a) 0 0 y n - o * zs).
    { unfold zs, numerator, denominator.
      rewrite (sum_ext _ (fun i => left (step_line D a i) * y i + right (step_line D a i) * y (S i)
        - o * mass (step_line D a i))) by (intros; unfold w, mass; ring).
      rewrite sum_minus, sum_scal. ring. }
    rewrite H. unfold o, output. fold zs. field. lra. }
  assert (NL : numerator (linear_line D a) 0 0 w n = numerator (linear_line D a) 0 0 y n - o * zl).
  { unfold zl, numerator, denominator.
    rewrite (sum_ext _ (fun i => left (linear_line D a i) * y i + right (linear_line D a i) * y (S i)
      - o * mass (linear_line D a i))) by (intros; unfold w, mass; ring).
    rewrite sum_minus, sum_scal. ring. }
  assert (E : o - output (linear_line D a) y n
     = (numerator (step_line D a) 0 0 w n - numerator (linear_line D a) 0 0 w n) / zl).
  { rewrite NS, NL. unfold output. fold zl. field. lra. }
  rewrite E. clear E NS NL.
  unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ zl)).
  2:{ apply Rle_ge. left. now apply Rinv_0_lt_compat. }
  apply Rmult_le_reg_r with zl; [exact HZ|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace (numerator (step_line D a) 0 0 w n - numerator (linear_line D a) 0 0 w n)
    with (sum (fun i => (left (step_line D a i) * w i + right (step_line D a i) * w (S i))
                        - (left (linear_line D a i) * w i + right (linear_line D a i) * w (S i))) n).
  2:{ rewrite sum_minus. unfold numerator. ring. }
  eapply Rle_trans; [apply sum_abs|].
  assert (ZE : (X * W + V) * zl = sum (fun i => (X * W + V) * mass (linear_line D a i)) n).
  { unfold zl. now rewrite denominator_sum, sum_scal. }
  rewrite ZE. apply sum_le. intros i Hi.
  destruct (LN i Hi) as [L R].
  unfold step_line, linear_line at 1 2. rewrite step_minus_linear.
  set (x := a (S i) - a i). set (B := X * W + V).
  assert (Bd : forall s, 0 < s < 1 -> Rabs (x * lerp (w i) (w (S i)) s + (w (S i) - w i)) <= B).
  { intros s Hs. pose proof (O i ltac:(lia)) as Oi. pose proof (O (S i) ltac:(lia)) as Os.
    replace (w (S i) - w i) with (y (S i) - y i) by (unfold w; ring).
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|now apply HV].
    rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [now apply HX|].
    change (y (S i) - o) with (w (S i)) in Os. change (y i - o) with (w i) in Oi.
    apply Rabs_le_between in Oi. apply Rabs_le_between in Os. apply Rabs_le_between. unfold lerp. nra. }
  set (g := fun s => s * (x * lerp (w i) (w (S i)) s + (w (S i) - w i))).
  assert (CG : cts g) by (unfold g; pose proof (cts_lerp (w i) (w (S i))); cts).
  assert (B0 : 0 <= B) by (eapply Rle_trans; [apply Rabs_pos | apply (Bd (1/2)); lra]).
  assert (RE : right (linear_line D a i) = D i * moment (a i) (a (S i)) 0 1 (fun s => s)).
  { unfold linear_line. now rewrite linear_integral. }
  assert (UP : moment (a i) (a (S i)) 0 1 g <= B * moment (a i) (a (S i)) 0 1 (fun s => s)).
  { replace (B * moment (a i) (a (S i)) 0 1 (fun s => s))
      with (moment (a i) (a (S i)) 0 1 (fun s => B * s + 0 * 1)).
    2:{ rewrite (moment_lin _ _ _ _ (fun s => s) (fun _ => 1)) by cts. ring. }
    apply moment_le; [lra | exact CG | cts |]. intros s Hs.
    pose proof (Bd s Hs) as H. apply Rabs_le_between in H. unfold g. nra. }
  assert (DN : - B * moment (a i) (a (S i)) 0 1 (fun s => s) <= moment (a i) (a (S i)) 0 1 g).
  { replace (- B * moment (a i) (a (S i)) 0 1 (fun s => s))
      with (moment (a i) (a (S i)) 0 1 (fun s => - B * s + 0 * 1)).
    2:{ rewrite (moment_lin _ _ _ _ (fun s => s) (fun _ => 1)) by cts. ring. }
    apply moment_le; [lra | cts | exact CG |]. intros s Hs.
    pose proof (Bd s Hs) as H. apply Rabs_le_between in H. unfold g. nra. }
  fold (linear_line D a i). pose proof (HD i Hi) as Di.
  set (h := moment (a i) (a (S i)) 0 1 (fun s => s)) in *.
  assert (K : B * (D i * h) <= B * mass (linear_line D a i)).
  { apply Rmult_le_compat_l; [exact B0|]. unfold mass. rewrite <- RE. lra. }
  apply Rabs_le_between. split.
  - apply Rle_trans with (D i * (- B * h)); [lra | apply Rmult_le_compat_l; lra].
  - apply Rle_trans with (D i * (B * h)); [apply Rmult_le_compat_l; lra | lra].
Qed.

(** ** Curves with bounded slopes *)

(** [step] Scores and values whose slopes are at most A and B, durations at most delta: Step is off by at
    most (A W + B) delta. *)
Theorem step_first_order D a y n A B W delta :
  (forall i, (i < n)%nat -> 0 <= D i <= delta) -> 0 < denominator (linear_line D a) 0 0 n ->
  0 <= A -> 0 <= B ->
  (forall i, (i < n)%nat -> Rabs (a (S i) - a i) <= A * D i) ->
  (forall i, (i < n)%nat -> Rabs (y (S i) - y i) <= B * D i) ->
  (forall i j, (i <= n)%nat -> (j <= n)%nat -> y i - y j <= W) ->
  Rabs (output (step_line D a) y n - output (linear_line D a) y n) <= (A * W + B) * delta.
Proof.
  intros HD HZ HA HB HX HV HW. replace ((A * W + B) * delta) with ((A * delta) * W + B * delta) by ring.
  apply step_output_error; auto.
  - intros i Hi. now apply HD.
  - intros i Hi. eapply Rle_trans; [now apply HX|]. apply Rmult_le_compat_l; [exact HA | now apply HD].
  - intros i Hi. eapply Rle_trans; [now apply HV|]. apply Rmult_le_compat_l; [exact HB | now apply HD].
Qed.

(** [trapezoid] Under the same conditions Trapezoid is off by at most (A^2 W + 2 A B) delta^2 / 8. *)
Theorem trapezoid_second_order D a y n A B W delta :
  (forall i, (i < n)%nat -> 0 <= D i <= delta) -> 0 < denominator (linear_line D a) 0 0 n ->
  0 <= A -> 0 <= B ->
  (forall i, (i < n)%nat -> Rabs (a (S i) - a i) <= A * D i) ->
  (forall i, (i < n)%nat -> Rabs (y (S i) - y i) <= B * D i) ->
  (forall i j, (i <= n)%nat -> (j <= n)%nat -> y i - y j <= W) ->
  Rabs (output (trapezoid_line D a) y n - output (linear_line D a) y n)
  <= (A ^ 2 * W + 2 * A * B) * delta ^ 2 / 8.
Proof.
  intros HD HZ HA HB HX HV HW.
  replace ((A ^ 2 * W + 2 * A * B) * delta ^ 2 / 8)
    with (((A * delta) ^ 2 * W + 2 * (A * delta) * (B * delta)) / 8) by field.
  apply trapezoid_output_error; auto.
  - intros i Hi. now apply HD.
  - intros i Hi. eapply Rle_trans; [now apply HX|]. apply Rmult_le_compat_l; [exact HA | now apply HD].
  - intros i Hi. eapply Rle_trans; [now apply HV|]. apply Rmult_le_compat_l; [exact HB | now apply HD].
Qed.
