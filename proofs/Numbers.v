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
