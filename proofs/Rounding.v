(** * Rounding: what f32 evaluation adds to a kernel's numbers

    Proved by Gappa, whose proofs Coq checks, and Flocq.  [f32 x] is the f32
    nearest to x, ties to even, subnormals included.  It has no largest number:
    the theorems speak of evaluations in which nothing overflows. *)

From Coq Require Import Reals Lra Lia ZArith.
From Flocq Require Import Core Relative Mult_error.
From Gappa Require Import Gappa_tactic.
From ContAttn Require Import Polynomials.
Open Scope R_scope.

Definition f32 : R -> R := rounding_float rndNE 24 (-149).
Definition f64 : R -> R := rounding_float rndNE 53 (-1074).

(** The unit roundoff 2^-24, half the distance of 1 from the next f32, and the
    smallest normal f32, 2^-126. *)
Definition u : R := 1 * powerRZ 2 (-24).
Definition smallest_normal : R := bpow radix2 (-126).

Lemma u_value : u = 1 / 16777216.
Proof. unfold u. simpl. lra. Qed.
Lemma smallest_normal_pos : 0 < smallest_normal.
Proof. apply bpow_gt_0. Qed.

(** ** One rounding *)

#[export] Instance f32_precision : Prec_gt_0 24 := eq_refl.
#[export] Instance f64_precision : Prec_gt_0 53 := eq_refl.

Lemma f32_round x : f32 x = round radix2 (FLT_exp (-149) 24) ZnearestE x.
Proof. reflexivity. Qed.
Lemma f64_round x : f64 x = round radix2 (FLT_exp (-1074) 53) ZnearestE x.
Proof. reflexivity. Qed.
Lemma f32_opp x : f32 (- x) = - f32 x.
Proof. rewrite !f32_round. apply round_NE_opp. Qed.
Lemma f32_idempotent x : f32 (f32 x) = f32 x.
Proof.
  rewrite !f32_round. apply round_generic; [apply valid_rnd_N|].
  apply generic_format_round; [apply FLT_exp_valid; exact f32_precision | apply valid_rnd_N].
Qed.
Lemma f32_0 : f32 0 = 0.
Proof. rewrite f32_round. apply round_0. apply valid_rnd_N. Qed.
Lemma f32_1 : f32 1 = 1.
Proof.
  rewrite f32_round. apply round_generic; [apply valid_rnd_N|]. apply (generic_format_FLT_bpow _ _ _ 0). lia.
Qed.

(** Rounding to f32 changes a number of normal size by at most u of it. *)
Lemma f32_relative y : smallest_normal <= Rabs y -> exists d, Rabs d <= u /\ f32 y = y * (1 + d).
Proof.
  intros H. destruct (relative_error_N_FLT_ex radix2 (-149) 24 eq_refl (fun n => negb (Z.even n)) y H)
    as (d & D & E).
  exists d. split; [|exact E]. eapply Rle_trans; [exact D|]. unfold u. simpl. lra.
Qed.

(** Rounding to f32 changes any number by at most u of it and 2^-150. *)
Lemma f32_absolute y : Rabs (f32 y - y) <= u * Rabs y + u * smallest_normal.
Proof.
  destruct (error_N_FLT radix2 (-149) 24 eq_refl (fun n => negb (Z.even n)) y) as (d & e & D & E & _ & H).
  rewrite f32_round, H. replace (y * (1 + d) + e - y) with (d * y + e) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  assert (Du : Rabs d <= u) by (eapply Rle_trans; [exact D|]; unfold u; simpl; lra).
  assert (Eu : Rabs e <= u * smallest_normal).
  { eapply Rle_trans; [exact E|]. right. unfold smallest_normal.
    replace (-149)%Z with (-23 + -126)%Z by reflexivity. rewrite bpow_plus. rewrite u_value. simpl. lra. }
  apply Rplus_le_compat; [|exact Eu]. apply Rmult_le_compat_r; [apply Rabs_pos | exact Du].
Qed.

(** ** Multiply and add *)

(** a b + c as AVX2 and AVX-512 compute it, rounded once, and as the portable
    vectors do, rounded twice. *)
Definition fused (a b c : R) : R := f32 (a * b + c).
Definition unfused (a b c : R) : R := f32 (f32 (a * b) + c).
Definition multiply_add (fma : R -> R -> R -> R) : Prop := fma = fused \/ fma = unfused.

Lemma multiply_add_error fma a b c : multiply_add fma ->
  exists r, Rabs r <= u * Rabs (a * b) + u * smallest_normal /\ fma a b c = f32 (a * b + r + c).
Proof.
  assert (U : 0 < u) by (rewrite u_value; lra). pose proof smallest_normal_pos as W.
  intros [-> | ->].
  - exists 0. split; [|unfold fused; f_equal; ring].
    rewrite Rabs_R0. pose proof (Rabs_pos (a * b)). nra.
  - exists (f32 (a * b) - a * b). split; [apply f32_absolute | unfold unfused; f_equal; ring].
Qed.

(** ** Polynomials by Horner's scheme *)

Ltac open_exp2 := unfold exp2_near, exp2_near_horner, exp2_near_c0, exp2_near_c1, exp2_near_c2,
  exp2_near_c3, exp2_near_c4, exp2_near_c5, fused, unfused, f32, u.
Ltac open_phi2 := unfold phi2_near, phi2_near_horner, phi2_near_c0, phi2_near_c1, phi2_near_c2,
  phi2_near_c3, phi2_near_c4, phi2_near_c5, phi2_near_c6, fused, unfused, f32, u.
Ltac open_psi := unfold psi_near, psi_near_horner, psi_near_c0, psi_near_c1, psi_near_c2,
  psi_near_c3, psi_near_c4, psi_near_c5, psi_near_c6, fused, unfused, f32, u.

(** Horner's scheme in exact arithmetic, in the order in which it is evaluated. *)
Definition exact (a b c : R) : R := a * b + c.
Lemma exp2_near_exact x : exp2_near x = exp2_near_horner exact x.
Proof. unfold exp2_near, exp2_near_horner, exact. ring. Qed.
Lemma phi2_near_exact x : phi2_near x = phi2_near_horner exact x.
Proof. unfold phi2_near, phi2_near_horner, exact. ring. Qed.
Lemma psi_near_exact x : psi_near x = psi_near_horner exact x.
Proof. unfold psi_near, psi_near_horner, exact. ring. Qed.

(** Gappa reads constants as [m * powerRZ 2 e]. *)
Lemma in_units m e c : m * powerRZ 2 e = c * u -> forall y, Rabs y <= m * powerRZ 2 e -> Rabs y <= c * u.
Proof. intros <-. auto. Qed.

(** [kernel numbers] For every f32 x with abs(x) <= 1/2 + 2^-17, evaluation adds at most 27/16 u to
    exp2_near(x), fused or not; 9/8 u where x <= 0. *)
Theorem exp2_near_rounding fma x0 : let x := f32 x0 in multiply_add fma ->
  (-65537 * powerRZ 2 (-17) <= x <= 0 ->
    Rabs (exp2_near_horner fma x - exp2_near x) <= 9 / 8 * u)
  /\ (0 <= x <= 65537 * powerRZ 2 (-17) ->
    Rabs (exp2_near_horner fma x - exp2_near x) <= 27 / 16 * u).
Proof.
  intros x F. rewrite exp2_near_exact. unfold exact, x. clear x. split; intros H.
  - apply (in_units 9 (-27)); [rewrite u_value; simpl; lra|].
    destruct F as [-> | ->]; revert x0 H; open_exp2; gappa.
  - apply (in_units 27 (-28)); [rewrite u_value; simpl; lra|].
    destruct F as [-> | ->]; revert x0 H; open_exp2; gappa.
Qed.

(** [kernel numbers] For every f32 x in [-1, 1], evaluation adds at most 7/8 u to phi2_near(x), fused or
    not; 5/8 u where x <= 0. *)
Theorem phi2_near_rounding fma x0 : let x := f32 x0 in multiply_add fma ->
  (-1 <= x <= 0 -> Rabs (phi2_near_horner fma x - phi2_near x) <= 5 / 8 * u)
  /\ (0 <= x <= 1 -> Rabs (phi2_near_horner fma x - phi2_near x) <= 7 / 8 * u).
Proof.
  intros x F. rewrite phi2_near_exact. unfold exact, x. clear x. split; intros H.
  - apply (in_units 5 (-27)); [rewrite u_value; simpl; lra|].
    destruct F as [-> | ->]; revert x0 H; open_phi2; gappa.
  - apply (in_units 7 (-27)); [rewrite u_value; simpl; lra|].
    destruct F as [-> | ->]; revert x0 H; open_phi2; gappa.
Qed.

(** [kernel numbers] For every f32 x in [-1, 1], evaluation adds at most 29/64 u to psi_near(x), fused or
    not; 19/64 u where x <= -1/2, 13/64 u between that and 0. *)
Theorem psi_near_rounding fma x0 : let x := f32 x0 in multiply_add fma ->
  (-1 <= x <= -1 * powerRZ 2 (-1) -> Rabs (psi_near_horner fma x - psi_near x) <= 19 / 64 * u)
  /\ (-1 * powerRZ 2 (-1) <= x <= 0 -> Rabs (psi_near_horner fma x - psi_near x) <= 13 / 64 * u)
  /\ (0 <= x <= 1 -> Rabs (psi_near_horner fma x - psi_near x) <= 29 / 64 * u).
Proof.
  intros x F. rewrite psi_near_exact. unfold exact, x. clear x. repeat split; intros H.
  - apply (in_units 19 (-30)); [rewrite u_value; simpl; lra|].
    destruct F as [-> | ->]; revert x0 H; open_psi; gappa.
  - apply (in_units 13 (-30)); [rewrite u_value; simpl; lra|].
    destruct F as [-> | ->]; revert x0 H; open_psi; gappa.
  - apply (in_units 29 (-30)); [rewrite u_value; simpl; lra|].
    destruct F as [-> | ->]; revert x0 H; open_psi; gappa.
Qed.

(** ** The argument of 2^f *)

Lemma f32_below_128 y : -1 * powerRZ 2 7 <= y <= 1 * powerRZ 2 7 -> Rabs (f32 y - y) <= 1 * powerRZ 2 (-18).
Proof. unfold f32. gappa. Qed.

Lemma f32_half z : -131073 * powerRZ 2 (-18) <= z <= 131073 * powerRZ 2 (-18) ->
  Rabs (f32 z - z) <= 1 * powerRZ 2 (-25).
Proof. unfold f32. gappa. Qed.
