(** * Numbers: kernel polynomials approximate the real functions

    Bounds of explicit polynomials on explicit intervals, computed by the
    Interval tactic.  It computes with Coq's primitive integers and floats, so
    the axioms that specify those (which the processor must obey) enter here and
    in no other file. *)

From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From ContAttn Require Import Calculus Phi Series Polynomials Rounding.
Open Scope R_scope.

Lemma phi2_near_against_taylor x : -1 <= x <= 1 -> Rabs (phi2_near x - phi2_taylor x) <= 495 / 10000000000.
Proof.
  intros Hx. unfold phi2_taylor, phi2_near, phi2_near_c0, phi2_near_c1, phi2_near_c2, phi2_near_c3,
    phi2_near_c4, phi2_near_c5, phi2_near_c6.
  interval with (i_bisect x, i_taylor x, i_prec 60).
Qed.

(** [kernel numbers] abs(phi2_near(x) - phi2(x)) <= 5e-8 on [-1, 1], in exact arithmetic. *)
Theorem phi2_near_approximation x : -1 <= x <= 1 -> Rabs (phi2_near x - phi2 x) <= 5 / 100000000.
Proof.
  intros Hx. pose proof (phi2_near_against_taylor x Hx) as A. pose proof (phi2_taylor_error x Hx) as B.
  replace (phi2_near x - phi2 x) with ((phi2_near x - phi2_taylor x) - (phi2 x - phi2_taylor x)) by ring.
  pose proof (Rabs_triang (phi2_near x - phi2_taylor x) (- (phi2 x - phi2_taylor x))) as T.
  rewrite Rabs_Ropp in T. unfold Rminus at 1. lra.
Qed.

(** [kernel numbers] For every f32 x in [-1, 1], phi2_near evaluated in f32 with fused multiply-adds is within
    1.1e-7 of phi2(x). *)
Theorem phi2_near_evaluated x0 : let x := f32 x0 in -1 <= x <= 1 ->
  Rabs (phi2_near_fma f32 x - phi2 x) <= 11 / 100000000.
Proof.
  intros x Hx. pose proof (phi2_near_rounding x0 Hx) as A. fold x in A.
  pose proof (phi2_near_approximation x Hx) as B.
  replace (phi2_near_fma f32 x - phi2 x)
    with ((phi2_near_fma f32 x - phi2_near x) + (phi2_near x - phi2 x)) by ring.
  pose proof (Rabs_triang (phi2_near_fma f32 x - phi2_near x) (phi2_near x - phi2 x)) as T.
  assert (P : 1 * powerRZ 2 (-24) <= 6 / 100000000) by (simpl; lra). lra.
Qed.

(** ** psi *)

Lemma psi_near_against_taylor x : -1 <= x <= 1 -> Rabs (psi_near x - psi_taylor x) <= 48 / 1000000000.
Proof.
  intros Hx. unfold psi_taylor, psi_near, psi_near_c0, psi_near_c1, psi_near_c2, psi_near_c3,
    psi_near_c4, psi_near_c5, psi_near_c6.
  interval with (i_bisect x, i_taylor x, i_prec 60).
Qed.

(** [kernel numbers] abs(psi_near(x) - psi(x)) <= 5e-8 on [-1, 1], in exact arithmetic. *)
Theorem psi_near_approximation x : -1 <= x <= 1 -> Rabs (psi_near x - psi x) <= 5 / 100000000.
Proof.
  intros Hx. pose proof (psi_near_against_taylor x Hx) as A. pose proof (psi_taylor_error x Hx) as B.
  replace (psi_near x - psi x) with ((psi_near x - psi_taylor x) + - (psi x - psi_taylor x)) by ring.
  pose proof (Rabs_triang (psi_near x - psi_taylor x) (- (psi x - psi_taylor x))) as T.
  rewrite Rabs_Ropp in T. lra.
Qed.

(** [kernel numbers] For every f32 x in [-1, 1], psi_near evaluated in f32 with fused multiply-adds is
    within 7.3e-8 of psi(x). *)
Theorem psi_near_evaluated x0 : let x := f32 x0 in -1 <= x <= 1 ->
  Rabs (psi_near_fma f32 x - psi x) <= 73 / 1000000000.
Proof.
  intros x Hx. pose proof (psi_near_rounding x0 Hx) as A. fold x in A.
  pose proof (psi_near_approximation x Hx) as B.
  replace (psi_near_fma f32 x - psi x)
    with ((psi_near_fma f32 x - psi_near x) + (psi_near x - psi x)) by ring.
  pose proof (Rabs_triang (psi_near_fma f32 x - psi_near x) (psi_near x - psi x)) as T.
  assert (P : 3 * powerRZ 2 (-27) <= 23 / 1000000000) by (simpl; lra). lra.
Qed.

(** ** 2^x *)

(** [kernel numbers] abs(exp2_near(x) - 2^x) <= 2e-8 on [-1/2, 1/2], in exact arithmetic
    (2^x is e^{x log 2}). *)
Theorem exp2_near_approximation x : -1 / 2 <= x <= 1 / 2 ->
  Rabs (exp2_near x - exp (x * ln 2)) <= 2 / 100000000.
Proof.
  intros Hx. unfold exp2_near, exp2_near_c0, exp2_near_c1, exp2_near_c2, exp2_near_c3,
    exp2_near_c4, exp2_near_c5, exp2_near_c6.
  interval with (i_bisect x, i_taylor x, i_prec 60).
Qed.

(** [kernel numbers] For every f32 x in [-1/2, 1/2], exp2_near evaluated in f32 with fused multiply-adds
    is within 1.1e-7 of 2^x. *)
Theorem exp2_near_evaluated x0 : let x := f32 x0 in -1 / 2 <= x <= 1 / 2 ->
  Rabs (exp2_near_fma f32 x - exp (x * ln 2)) <= 11 / 100000000.
Proof.
  intros x Hx. pose proof (exp2_near_rounding x0 Hx) as A. fold x in A.
  pose proof (exp2_near_approximation x Hx) as B.
  replace (exp2_near_fma f32 x - exp (x * ln 2))
    with ((exp2_near_fma f32 x - exp2_near x) + (exp2_near x - exp (x * ln 2))) by ring.
  pose proof (Rabs_triang (exp2_near_fma f32 x - exp2_near x) (exp2_near x - exp (x * ln 2))) as T.
  assert (P : 6 * powerRZ 2 (-26) <= 9 / 100000000) by (simpl; lra). lra.
Qed.
