(** * Numbers: kernel polynomials approximate the real functions

    Bounds of explicit polynomials on explicit intervals, computed by the
    Interval tactic.  It computes with Coq's primitive integers, so the axioms
    that specify those (which the processor must obey) enter here, and nowhere
    but in this file and those that build on it. *)

From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From ContAttn Require Import Calculus Phi Series Polynomials Rounding.
Open Scope R_scope.

(** An approximation [p] of [f] within the relative error [c], of a polynomial
    [t] that is close to it. *)
Lemma through_taylor p t f c e : 0 < t -> Rabs ((p - t) / t) <= c -> Rabs (f - t) <= e -> 0 <= c ->
  Rabs (p - f) <= c * (f + e) + e.
Proof.
  intros T H F C. unfold Rdiv in H. rewrite Rabs_mult, (Rabs_right (/ t)) in H
    by (left; now apply Rinv_0_lt_compat).
  assert (A : Rabs (p - t) <= c * t).
  { apply (Rmult_le_compat_r t) in H; [|lra]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r in H by lra. exact H. }
  assert (B : t <= f + e) by (apply Rabs_le_between in F; lra).
  replace (p - f) with ((p - t) + - (f - t)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
  apply Rplus_le_compat; [|exact F]. eapply Rle_trans; [exact A|]. now apply Rmult_le_compat_l.
Qed.

Lemma sum_of_errors p q f e c : Rabs (p - q) <= e -> Rabs (q - f) <= c -> Rabs (p - f) <= e + c.
Proof. intros A B. apply Rabs_le_between in A, B. apply Rabs_le. lra. Qed.

(** ** phi2 *)

Lemma phi2_taylor_range x : -1 <= x <= 1 -> 367 / 1000 <= phi2_taylor x <= 719 / 1000.
Proof. intros Hx. unfold phi2_taylor. split; interval with (i_bisect x, i_prec 60). Qed.

Lemma phi2_near_against_taylor x : -1 <= x <= 1 ->
  Rabs ((phi2_near x - phi2_taylor x) / phi2_taylor x) <= 1525 / 1000 * u.
Proof.
  intros Hx. unfold u, phi2_taylor, phi2_near, phi2_near_c0, phi2_near_c1, phi2_near_c2, phi2_near_c3,
    phi2_near_c4, phi2_near_c5, phi2_near_c6.
  interval with (i_bisect x, i_taylor x, i_prec 60).
Qed.

(** [kernel numbers] abs(phi2_near(x) - phi2(x)) <= 1.55 u phi2(x) on [-1, 1], in exact arithmetic;
    u = 2^-24. *)
Theorem phi2_near_approximation x : -1 <= x <= 1 -> Rabs (phi2_near x - phi2 x) <= 155 / 100 * u * phi2 x.
Proof.
  intros Hx. pose proof (phi2_taylor_range x Hx) as T. pose proof (phi2_taylor_error x Hx) as E.
  assert (P : 0 < phi2_taylor x) by lra. assert (C : 0 <= 1525 / 1000 * u) by (rewrite u_value; lra).
  pose proof (through_taylor _ _ _ _ _ P (phi2_near_against_taylor x Hx) E C) as H.
  rewrite u_value in *. apply Rabs_le_between in E. lra.
Qed.

Lemma phi2_range x : -1 <= x <= 1 -> 367 / 1000 <= phi2 x <= 719 / 1000.
Proof.
  intros Hx. pose proof (phi2_taylor_error x Hx) as E. apply Rabs_le_between in E.
  assert (T : 3675 / 10000 <= phi2_taylor x <= 7185 / 10000)
    by (unfold phi2_taylor; split; interval with (i_bisect x, i_prec 60)).
  lra.
Qed.

Lemma phi2_above_half x : 0 <= x <= 1 -> 1 / 2 <= phi2 x.
Proof.
  intros [[P | <-] _]; [|rewrite phi2_0; lra].
  rewrite <- phi2_0. left. now apply phi2_increasing.
Qed.

(** [kernel numbers] For every f32 x in [-1, 1], phi2_near evaluated in f32, fused or not, is within
    3.4 u of phi2(x), relatively. *)
Theorem phi2_near_evaluated fma x0 : let x := f32 x0 in multiply_add fma -> -1 <= x <= 1 ->
  Rabs (phi2_near_horner fma x - phi2 x) <= 34 / 10 * u * phi2 x.
Proof.
  intros x F Hx. destruct (phi2_near_rounding fma x0 F) as [N P]. fold x in N, P.
  pose proof (phi2_near_approximation x Hx) as B. pose proof (phi2_range x Hx) as R.
  rewrite u_value in *.
  destruct (Rle_or_lt x 0) as [S | S].
  - pose proof (sum_of_errors _ _ _ _ _ (N ltac:(lra)) B). lra.
  - pose proof (sum_of_errors _ _ _ _ _ (P ltac:(lra)) B). pose proof (phi2_above_half x ltac:(lra)). lra.
Qed.

(** ** psi *)

Lemma psi_taylor_range x : -1 <= x <= 1 -> 103 / 1000 <= psi_taylor x <= 282 / 1000.
Proof. intros Hx. unfold psi_taylor. split; interval with (i_bisect x, i_prec 60). Qed.

Lemma psi_near_against_taylor x : -1 <= x <= 1 ->
  Rabs ((psi_near x - psi_taylor x) / psi_taylor x) <= 3640 / 1000 * u.
Proof.
  intros Hx. unfold u, psi_taylor, psi_near, psi_near_c0, psi_near_c1, psi_near_c2, psi_near_c3,
    psi_near_c4, psi_near_c5, psi_near_c6.
  interval with (i_bisect x, i_taylor x, i_prec 60).
Qed.

(** [kernel numbers] abs(psi_near(x) - psi(x)) <= 3.75 u psi(x) on [-1, 1], in exact arithmetic;
    u = 2^-24. *)
Theorem psi_near_approximation x : -1 <= x <= 1 -> Rabs (psi_near x - psi x) <= 375 / 100 * u * psi x.
Proof.
  intros Hx. pose proof (psi_taylor_range x Hx) as T. pose proof (psi_taylor_error x Hx) as E.
  assert (P : 0 < psi_taylor x) by lra. assert (C : 0 <= 3640 / 1000 * u) by (rewrite u_value; lra).
  pose proof (through_taylor _ _ _ _ _ P (psi_near_against_taylor x Hx) E C) as H.
  rewrite u_value in *. apply Rabs_le_between in E. lra.
Qed.

Lemma psi_range x : -1 <= x <= 1 -> 103 / 1000 <= psi x <= 282 / 1000.
Proof.
  intros Hx. pose proof (psi_taylor_error x Hx) as E. apply Rabs_le_between in E.
  assert (T : 1035 / 10000 <= psi_taylor x <= 2818 / 10000)
    by (unfold psi_taylor; split; interval with (i_bisect x, i_prec 60)).
  lra.
Qed.

Lemma psi_above x : (-1 / 2 <= x -> 13 / 100 <= psi x) /\ (0 <= x -> 1 / 6 <= psi x).
Proof.
  split; intros H.
  - assert (E : 13 / 100 <= psi (-1 / 2)) by (rewrite psi_closed by lra; interval with (i_prec 60)).
    destruct H as [H | <-]; [|exact E]. pose proof (psi_increasing _ _ H). lra.
  - rewrite <- psi_0. destruct H as [H | <-]; [left; now apply psi_increasing | lra].
Qed.

(** [kernel numbers] For every f32 x in [-1, 1], psi_near evaluated in f32, fused or not, is within
    6.65 u of psi(x), relatively. *)
Theorem psi_near_evaluated fma x0 : let x := f32 x0 in multiply_add fma -> -1 <= x <= 1 ->
  Rabs (psi_near_horner fma x - psi x) <= 665 / 100 * u * psi x.
Proof.
  intros x F Hx. destruct (psi_near_rounding fma x0 F) as (N & M & P). fold x in N, M, P.
  pose proof (psi_near_approximation x Hx) as B. pose proof (psi_range x Hx) as R.
  destruct (psi_above x) as [A1 A2]. replace (-1 * powerRZ 2 (-1)) with (-1 / 2) in N, M by (simpl; lra).
  rewrite u_value in *.
  destruct (Rle_or_lt x (-1 / 2)) as [S | S]; [|destruct (Rle_or_lt x 0) as [S' | S']].
  - pose proof (sum_of_errors _ _ _ _ _ (N ltac:(lra)) B). lra.
  - pose proof (sum_of_errors _ _ _ _ _ (M ltac:(lra)) B). specialize (A1 ltac:(lra)). lra.
  - pose proof (sum_of_errors _ _ _ _ _ (P ltac:(lra)) B). specialize (A2 ltac:(lra)). lra.
Qed.

(** ** 2^x *)

Lemma exp2_near_against_exp x : -65537 / 131072 <= x <= 65537 / 131072 ->
  Rabs (exp2_near x * exp (- (x * ln 2)) - 1) <= 1565 / 1000 * u.
Proof.
  intros Hx. unfold u, exp2_near, exp2_near_c0, exp2_near_c1, exp2_near_c2, exp2_near_c3,
    exp2_near_c4, exp2_near_c5.
  interval with (i_bisect x, i_taylor x, i_prec 60).
Qed.

(** [kernel numbers] abs(exp2_near(x) - 2^x) <= 1.565 u 2^x for abs(x) <= 1/2 + 2^-17, in exact arithmetic
    (2^x is e^{x log 2}, u = 2^-24). *)
Theorem exp2_near_approximation x : -65537 / 131072 <= x <= 65537 / 131072 ->
  Rabs (exp2_near x - exp (x * ln 2)) <= 1565 / 1000 * u * exp (x * ln 2).
Proof.
  intros Hx. pose proof (exp2_near_against_exp x Hx) as H. pose proof (exp_pos (x * ln 2)) as P.
  apply (Rmult_le_compat_r (exp (x * ln 2))) in H; [|lra].
  rewrite <- (Rabs_right (exp (x * ln 2))) in H at 1 by lra. rewrite <- Rabs_mult in H.
  replace ((exp2_near x * exp (- (x * ln 2)) - 1) * exp (x * ln 2))
    with (exp2_near x - exp (x * ln 2)) in H; [exact H|].
  rewrite exp_Ropp. field. lra.
Qed.

(** [kernel numbers] For every f32 x with abs(x) <= 1/2 + 2^-17, exp2_near evaluated in f32, fused or not,
    is within 3.3 u of 2^x, relatively. *)
Theorem exp2_near_evaluated fma x0 : let x := f32 x0 in multiply_add fma ->
  -65537 / 131072 <= x <= 65537 / 131072 ->
  Rabs (exp2_near_horner fma x - exp (x * ln 2)) <= 33 / 10 * u * exp (x * ln 2).
Proof.
  intros x F Hx. destruct (exp2_near_rounding fma x0 F) as [N P]. fold x in N, P.
  assert (B17 : 65537 * powerRZ 2 (-17) = 65537 / 131072) by (simpl; lra).
  pose proof (exp2_near_approximation x Hx) as B. rewrite u_value in *.
  destruct (Rle_or_lt x 0) as [S | S].
  - pose proof (sum_of_errors _ _ _ _ _ (N ltac:(lra)) B) as E.
    assert (L : 707 / 1000 <= exp (x * ln 2)) by interval with (i_prec 60). lra.
  - pose proof (sum_of_errors _ _ _ _ _ (P ltac:(lra)) B) as E.
    assert (L : 1 <= exp (x * ln 2)).
    { pose proof (exp_ineq1_le (x * ln 2)) as I. assert (0 < ln 2) by interval with (i_prec 60). nra. }
    lra.
Qed.

(** The constant log2 e is off by 0.324 u. *)
Lemma log2_e_error : Rabs (log2_e - / ln 2) <= 324 / 1000 * u.
Proof. unfold u, log2_e. interval with (i_prec 60). Qed.

Lemma ln_2_range : 693147 / 1000000 <= ln 2 <= 693148 / 1000000.
Proof. split; interval with (i_prec 60). Qed.

Lemma exp2_range x : -65537 / 131072 <= x <= 65537 / 131072 ->
  7 / 10 <= exp (x * ln 2) <= 15 / 10.
Proof. intros Hx. split; interval with (i_prec 60). Qed.

Lemma exp_extremes x : -8731 / 100 <= x <= 88 ->
  exp (-126 * ln 2) <= 999 / 1000 * exp x /\ 1001 / 1000 * exp x < exp (128 * ln 2).
Proof.
  intros Hx. pose proof (exp_pos x) as P. split.
  - apply Rle_trans with (999 / 1000 * exp (-8731 / 100)); [interval with (i_prec 60)|].
    apply Rmult_le_compat_l; [lra|]. destruct (proj1 Hx) as [H | <-]; [left; now apply exp_increasing | lra].
  - apply Rle_lt_trans with (1001 / 1000 * exp 88); [|interval with (i_prec 60)].
    apply Rmult_le_compat_l; [lra|]. destruct (proj2 Hx) as [H | ->]; [left; now apply exp_increasing | lra].
Qed.
