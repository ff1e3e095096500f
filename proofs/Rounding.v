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
