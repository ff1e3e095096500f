(** * Rounding: what f32 evaluation adds to a kernel's polynomial

    Proved by Gappa, whose proofs Coq checks.  [f32 x] is the f32 nearest to x,
    ties to even, subnormals included (overflow cannot occur in these ranges). *)

From Coq Require Import Reals Lra.
From Flocq Require Import Core.
From Gappa Require Import Gappa_tactic.
From ContAttn Require Import Polynomials.
Open Scope R_scope.

Definition f32 : R -> R := rounding_float rndNE 24 (-149).

(** [kernel numbers] For every f32 x in [-1, 1] the chain of fused multiply-adds stays within 2^-24 of
    the polynomial phi2_near. *)
Theorem phi2_near_rounding x0 : let x := f32 x0 in -1 <= x <= 1 ->
  Rabs (phi2_near_fma f32 x - phi2_near x) <= 1 * powerRZ 2 (-24).
Proof.
  intros x H.
  replace (phi2_near x) with ((((((phi2_near_c6 * x + phi2_near_c5) * x + phi2_near_c4) * x
    + phi2_near_c3) * x + phi2_near_c2) * x + phi2_near_c1) * x + phi2_near_c0)
    by (unfold phi2_near; ring).
  unfold x in *. clear x. revert x0 H.
  unfold phi2_near_fma, phi2_near_c0, phi2_near_c1, phi2_near_c2, phi2_near_c3, phi2_near_c4,
    phi2_near_c5, phi2_near_c6, f32. gappa.
Qed.

(** [kernel numbers] For every f32 x in [-1, 1] the chain of fused multiply-adds stays within 3 2^-27
    of the polynomial psi_near. *)
Theorem psi_near_rounding x0 : let x := f32 x0 in -1 <= x <= 1 ->
  Rabs (psi_near_fma f32 x - psi_near x) <= 3 * powerRZ 2 (-27).
Proof.
  intros x H.
  replace (psi_near x) with ((((((psi_near_c6 * x + psi_near_c5) * x + psi_near_c4) * x
    + psi_near_c3) * x + psi_near_c2) * x + psi_near_c1) * x + psi_near_c0)
    by (unfold psi_near; ring).
  unfold x in *. clear x. revert x0 H.
  unfold psi_near_fma, psi_near_c0, psi_near_c1, psi_near_c2, psi_near_c3, psi_near_c4,
    psi_near_c5, psi_near_c6, f32. gappa.
Qed.

(** [kernel numbers] For every f32 x in [-1/2, 1/2] the chain of fused multiply-adds stays within
    6 2^-26 of the polynomial exp2_near. *)
Theorem exp2_near_rounding x0 : let x := f32 x0 in -1 / 2 <= x <= 1 / 2 ->
  Rabs (exp2_near_fma f32 x - exp2_near x) <= 6 * powerRZ 2 (-26).
Proof.
  intros x H.
  replace (exp2_near x) with ((((((exp2_near_c6 * x + exp2_near_c5) * x + exp2_near_c4) * x
    + exp2_near_c3) * x + exp2_near_c2) * x + exp2_near_c1) * x + exp2_near_c0)
    by (unfold exp2_near; ring).
  unfold x in *. clear x. revert x0 H.
  unfold exp2_near_fma, exp2_near_c0, exp2_near_c1, exp2_near_c2, exp2_near_c3, exp2_near_c4,
    exp2_near_c5, exp2_near_c6, f32. gappa.
Qed.
