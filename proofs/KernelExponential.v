(** * KernelExponential: e^x as the tiled kernels evaluate it

    [exp] of crates/cpu/src/tiled/elementary.rs, step by step, on the interval
    where it evaluates anything.  Below [exp_lowest] it returns 0; arguments
    above [exp_highest] are replaced by that or do not occur. *)

From Coq Require Import Reals Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From Flocq Require Import Core Mult_error.
From ContAttn Require Import Polynomials Rounding Numbers.
Open Scope R_scope.

(** n = x log2 e, rounded to a whole number by adding 1.5 * 2^23, where neighbouring f32 are 1 apart;
    f = x log2 e - n by one fused operation, e^x = 2^n 2^f. *)
Definition magic : R := 12582912.
Definition exp_steps (fma : R -> R -> R -> R) (x : R) : Z := (Zfloor (fma x log2_e magic) - 12582912)%Z.
Definition exp_rest (fma : R -> R -> R -> R) (x : R) : R := f32 (x * log2_e - IZR (exp_steps fma x)).
Definition exp_f32 (fma : R -> R -> R -> R) (x : R) : R :=
  bpow radix2 (exp_steps fma x) * exp2_near_horner fma (exp_rest fma x).

Lemma log2_e_value : log2_e = 12102203 / 8388608.
Proof. unfold log2_e. simpl. lra. Qed.
Lemma exp_lowest_value : exp_lowest = - 5721293 / 65536.
Proof. unfold exp_lowest. simpl. lra. Qed.
Lemma exp_highest_value : exp_highest = 88.
Proof. unfold exp_highest. simpl. lra. Qed.

Lemma exp_range x : exp_lowest <= x <= exp_highest -> -8731 / 100 <= x <= 88.
Proof. rewrite exp_lowest_value, exp_highest_value. lra. Qed.

Lemma exp_product x : exp_lowest <= x <= exp_highest ->
  Rabs (f32 (x * log2_e) - x * log2_e) <= 1 / 262144.
Proof.
  intros Hx. pose proof (exp_range x Hx).
  assert (P : 1 * powerRZ 2 (-18) = 1 / 262144) by (simpl; lra). rewrite <- P.
  apply f32_below_128. rewrite log2_e_value. simpl. lra.
Qed.

Lemma f32_whole z : 8388608 <= z < 16777216 -> f32 z = IZR (ZnearestE z).
Proof.
  intros Hz. rewrite f32_round. unfold round, F2R, scaled_mantissa, cexp. cbn [Fnum Fexp].
  assert (M : mag radix2 z = 24%Z :> Z).
  { apply mag_unique. rewrite Rabs_right by lra. simpl. lra. }
  rewrite M. replace (FLT_exp (-149) 24 24) with 0%Z by reflexivity. simpl. now rewrite !Rmult_1_r.
Qed.

(** [kernel numbers] For -87.3 <= x <= 88 the sum of x log2 e and 1.5 * 2^23 is a whole number, as every f32 near it
    is, and n, what it is above 1.5 * 2^23, is within 1/2 + 2^-18 of x log2 e, with fused operations and without. *)
Theorem exp_whole fma x : multiply_add fma -> exp_lowest <= x <= exp_highest ->
  fma x log2_e magic - magic = IZR (exp_steps fma x) /\
  Rabs (x * log2_e - IZR (exp_steps fma x)) <= 131073 / 262144.
Proof.
  intros F Hx. pose proof (exp_product x Hx) as A. pose proof (exp_range x Hx) as X.
  assert (Y : -127 < x * log2_e < 128) by (rewrite log2_e_value; lra).
  assert (G : exists y, Rabs (y - x * log2_e) <= 1 / 262144 /\ fma x log2_e magic = f32 (y + magic)).
  { destruct F as [-> | ->]; [exists (x * log2_e) | exists (f32 (x * log2_e))].
    - split; [|reflexivity]. rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
    - split; [exact A | reflexivity]. }
  destruct G as (y & B & E). apply Rabs_le_between in B.
  rewrite (f32_whole (y + magic)) in E by (unfold magic; lra).
  pose proof (Znearest_half (fun n => negb (Z.even n)) (y + magic)) as C. apply Rabs_le_between in C.
  set (k := ZnearestE (y + magic)) in *.
  assert (S : IZR (exp_steps fma x) = IZR k - magic).
  { unfold exp_steps. now rewrite E, Zfloor_IZR, minus_IZR. }
  rewrite S, E. split; [reflexivity|]. apply Rabs_le. lra.
Qed.

Lemma exp_unrounded fma x : multiply_add fma -> exp_lowest <= x <= exp_highest ->
  Rabs (x * log2_e - IZR (exp_steps fma x)) <= 131073 / 262144.
Proof. intros F Hx. now apply exp_whole. Qed.

(** [kernel numbers] The reduction of the argument, for -87.3 <= x <= 88: n lies in [-126, 127], f in
    [-1/2 - 2^-17, 1/2 + 2^-17], and f is within (0.324 abs(x) + 0.5) u of x log2 e - n. *)
Theorem exp_reduction fma x : multiply_add fma -> exp_lowest <= x <= exp_highest ->
  (-126 <= exp_steps fma x <= 127)%Z /\ Rabs (exp_rest fma x) <= 1 / 2 + 1 / 131072 /\
  Rabs (exp_rest fma x - (x / ln 2 - IZR (exp_steps fma x))) <= (324 / 1000 * Rabs x + 1 / 2) * u.
Proof.
  intros F Hx. pose proof (exp_unrounded fma x F Hx) as Z. pose proof (exp_range x Hx) as X.
  assert (R : Rabs (exp_rest fma x - (x * log2_e - IZR (exp_steps fma x))) <= 1 / 2 * u).
  { assert (P : 1 * powerRZ 2 (-25) = 1 / 2 * u) by (rewrite u_value; simpl; lra). rewrite <- P.
    unfold exp_rest. apply f32_half.
    assert (Q : 131073 * powerRZ 2 (-18) = 131073 / 262144) by (simpl; lra).
    apply Rabs_le_between in Z.
    replace (-131073 * powerRZ 2 (-18)) with (- (131073 * powerRZ 2 (-18))) by ring. rewrite Q. exact Z. }
  split; [|split].
  - assert (L : -127 < IZR (exp_steps fma x) < 128).
    { apply Rabs_le_between in Z. rewrite log2_e_value in Z. lra. }
    destruct L as [L1 L2]. apply lt_IZR in L1, L2. lia.
  - apply Rabs_le_between in Z, R. rewrite u_value in R. apply Rabs_le. lra.
  - replace (exp_rest fma x - (x / ln 2 - IZR (exp_steps fma x)))
      with ((exp_rest fma x - (x * log2_e - IZR (exp_steps fma x))) + x * (log2_e - / ln 2))
      by (unfold Rdiv; ring).
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
    pose proof log2_e_error as C. pose proof (Rabs_pos x) as P.
    apply (Rmult_le_compat_l (Rabs x)) in C; [|exact P]. lra.
Qed.

(** [kernel numbers] The portable vectors reduce the argument in f64: product and difference are exact there,
    so the result is that of one fused operation. *)
Theorem portable_reduction fma x : multiply_add fma -> f32 x = x -> exp_lowest <= x <= exp_highest ->
  f32 (f64 (f64 (x * log2_e) - IZR (exp_steps fma x))) = exp_rest fma x.
Proof.
  intros F Fx Hx.
  assert (G : generic_format radix2 (FLT_exp (-149) 24) x).
  { rewrite <- Fx, f32_round. apply generic_format_round; [apply FLT_exp_valid, f32_precision | apply valid_rnd_N]. }
  assert (P : f64 (x * log2_e) = x * log2_e).
  { rewrite f64_round. apply round_generic; [apply valid_rnd_N|].
    destruct (FLT_format_generic radix2 (-149) 24 x G) as [[m e] E M L]. cbn [Fnum Fexp] in M, L.
    change (Zpower radix2 24) with 16777216%Z in M.
    apply generic_format_FLT, (FLT_spec _ _ _ _ (Float radix2 (m * 12102203) (e - 23))).
    - rewrite E, log2_e_value. unfold F2R. cbn [Fnum Fexp]. replace (e - 23)%Z with (e + -23)%Z by lia.
      assert (B : bpow radix2 (-23) = / 8388608) by (simpl; lra).
      rewrite mult_IZR, bpow_plus, B. field.
    - cbn [Fnum]. change (Zpower radix2 53) with 9007199254740992%Z. lia.
    - cbn [Fexp]. lia. }
  rewrite P. unfold exp_rest. f_equal.
  destruct (Z.eq_dec (exp_steps fma x) 0) as [-> | N]; [rewrite Rminus_0_r; exact P|].
  pose proof (exp_unrounded fma x F Hx) as U. apply Rabs_le_between in U. rewrite log2_e_value in U at 1.
  assert (X : 1 / 4 <= Rabs x).
  { assert (V : IZR (exp_steps fma x) <= -1 \/ 1 <= IZR (exp_steps fma x)).
    { assert (V : (exp_steps fma x <= -1 \/ 1 <= exp_steps fma x)%Z) by lia.
      destruct V as [V | V]; apply IZR_le in V; [left | right]; exact V. }
    rewrite log2_e_value in U. destruct V; [rewrite Rabs_left by lra | rewrite Rabs_right by lra]; lra. }
  (* x is a multiple of 2^-25, so the difference is one of 2^-48 *)
  set (m := Ztrunc (scaled_mantissa radix2 (FLT_exp (-149) 24) x)).
  set (e := cexp radix2 (FLT_exp (-149) 24) x).
  assert (E : x = IZR m * bpow radix2 e) by exact G.
  assert (Ee : (-25 <= e)%Z).
  { unfold e, cexp, FLT_exp. assert (M : (-1 <= mag radix2 x)%Z); [|lia].
    apply mag_ge_bpow. simpl. lra. }
  set (k := (m * 12102203 * radix2 ^ (e + 25) - exp_steps fma x * 2 ^ 48)%Z).
  assert (D : x * log2_e - IZR (exp_steps fma x) = IZR k * bpow radix2 (-48)).
  { unfold k. rewrite minus_IZR, !mult_IZR, IZR_Zpower, bpow_plus by lia.
    assert (B : bpow radix2 25 = 33554432) by (simpl; lra).
    assert (C : bpow radix2 (-48) = / 281474976710656) by (simpl; lra).
    change (2 ^ 48)%Z with 281474976710656%Z. rewrite log2_e_value, B, C. rewrite E at 1. field. }
  rewrite f64_round, D. apply round_generic; [apply valid_rnd_N|].
  apply generic_format_FLT, (FLT_spec _ _ _ _ (Float radix2 k (-48))).
  - reflexivity.
  - cbn [Fnum]. apply lt_IZR. rewrite abs_IZR.
    assert (K : Rabs (IZR k * bpow radix2 (-48)) <= 1)
      by (rewrite <- D; pose proof (exp_unrounded fma x F Hx); lra).
    rewrite Rabs_mult, (Rabs_right (bpow radix2 (-48))) in K by (apply Rle_ge, bpow_ge_0).
    assert (C : bpow radix2 (-48) = / 281474976710656) by (simpl; lra). rewrite C in K.
    change (Zpower radix2 53) with 9007199254740992%Z. lra.
  - cbn [Fexp]. lia.
Qed.

Lemma exp_minus_1 w : Rabs w <= 1 / 100 -> Rabs (exp w - 1) <= Rabs w * (1 + 2 * Rabs w).
Proof.
  intros Hw. pose proof (exp_ineq1_le w) as A. pose proof (exp_ineq1_le (- w)) as B.
  pose proof (exp_pos w) as P. rewrite exp_Ropp in B.
  assert (C : exp w * (1 - w) <= 1).
  { apply (Rmult_le_compat_l (exp w)) in B; [|lra]. rewrite Rinv_r in B by lra. lra. }
  pose proof (Rabs_pos w) as Q. assert (Q2 : 0 <= Rabs w * Rabs w) by nra.
  apply Rabs_le_between in Hw. apply Rabs_le. split.
  - destruct (Rle_or_lt 0 w); [rewrite Rabs_right by lra | rewrite Rabs_left by lra]; nra.
  - destruct (Rle_or_lt 0 w); [rewrite Rabs_right in * by lra | rewrite Rabs_left in * by lra]; nra.
Qed.

(** [kernel numbers] The kernels' e^x is within (4 + abs(x)/4) u of e^x, relatively, for -87.3 <= x <= 88,
    with fused operations and without. *)
Theorem exp_f32_error fma x : multiply_add fma -> exp_lowest <= x <= exp_highest ->
  Rabs (exp_f32 fma x - exp x) <= (4 + Rabs x / 4) * u * exp x.
Proof.
  intros F Hx. destruct (exp_reduction fma x F Hx) as (_ & R & E). pose proof (exp_range x Hx) as X.
  set (n := IZR (exp_steps fma x)) in *. set (f := exp_rest fma x) in *.
  assert (P : Rabs (exp2_near_horner fma f - exp (f * ln 2)) <= 33 / 10 * u * exp (f * ln 2)).
  { unfold f at 1 2 3. unfold exp_rest. apply exp2_near_evaluated; [exact F|].
    fold (exp_rest fma x). fold f. apply Rabs_le_between in R. lra. }
  pose proof ln_2_range as L2. pose proof (Rabs_pos x) as AX.
  assert (AX88 : Rabs x <= 88) by (apply Rabs_le; lra).
  (* x = (n + f) log 2 - w *)
  set (w := (f - (x / ln 2 - n)) * ln 2).
  assert (W : Rabs w <= (225 / 1000 * Rabs x + 35 / 100) * u).
  { unfold w. rewrite Rabs_mult, (Rabs_right (ln 2)) by lra. rewrite u_value in *.
    pose proof (Rabs_pos (f - (x / ln 2 - n))). nra. }
  assert (B : exp_f32 fma x = exp x * (exp w * (exp2_near_horner fma f * exp (- (f * ln 2))))).
  { unfold exp_f32. fold f. rewrite bpow_exp. change (IZR radix2) with 2. fold n.
    replace (n * ln 2) with (x + w + - (f * ln 2)) by (unfold w; field; lra).
    rewrite 2!exp_plus. ring. }
  set (q := exp2_near_horner fma f * exp (- (f * ln 2))) in *.
  assert (Q : Rabs (q - 1) <= 33 / 10 * u).
  { unfold q. rewrite exp_Ropp. pose proof (exp_pos (f * ln 2)) as Ep.
    replace (exp2_near_horner fma f * / exp (f * ln 2) - 1)
      with ((exp2_near_horner fma f - exp (f * ln 2)) * / exp (f * ln 2)) by (field; lra).
    rewrite Rabs_mult, (Rabs_right (/ exp (f * ln 2))) by (left; now apply Rinv_0_lt_compat).
    apply (Rmult_le_reg_r (exp (f * ln 2))); [exact Ep|]. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (V : Rabs (exp w - 1) <= (226 / 1000 * Rabs x + 351 / 1000) * u).
  { eapply Rle_trans; [apply exp_minus_1; rewrite u_value in W; lra|].
    apply Rle_trans with (Rabs w * (1 + 1 / 1000)).
    - apply Rmult_le_compat_l; [apply Rabs_pos|]. rewrite u_value in W. lra.
    - rewrite u_value in *. lra. }
  rewrite B. pose proof (exp_pos x) as EX.
  replace (exp x * (exp w * q) - exp x) with (exp x * ((exp w - 1) + (q - 1) + (exp w - 1) * (q - 1)))
    by ring.
  rewrite Rabs_mult, (Rabs_right (exp x)), Rmult_comm by lra. apply Rmult_le_compat_r; [lra|].
  pose proof (Rabs_triang (exp w - 1 + (q - 1)) ((exp w - 1) * (q - 1))) as T1.
  pose proof (Rabs_triang (exp w - 1) (q - 1)) as T2. rewrite Rabs_mult in T1.
  assert (T3 : Rabs (exp w - 1) * Rabs (q - 1) <= Rabs (exp w - 1) * (1 / 1000)).
  { apply Rmult_le_compat_l; [apply Rabs_pos|]. rewrite u_value in Q. lra. }
  rewrite u_value in *. lra.
Qed.

Lemma exp_steps_0 fma : multiply_add fma -> exp_steps fma 0 = 0%Z.
Proof.
  intros F. unfold exp_steps. assert (E : fma 0 log2_e magic = magic).
  { destruct F as [-> | ->]; unfold fused, unfused; rewrite Rmult_0_l, ?f32_0, Rplus_0_l;
      rewrite f32_whole by (unfold magic; lra); unfold magic; f_equal; apply Zrnd_IZR, valid_rnd_N. }
  rewrite E. unfold magic. now rewrite Zfloor_IZR.
Qed.

(** [kernel numbers] e^0 is exactly 1. *)
Theorem exp_f32_0 fma : multiply_add fma -> exp_f32 fma 0 = 1.
Proof.
  intros F. unfold exp_f32, exp_rest. rewrite (exp_steps_0 fma F), Rmult_0_l, Rminus_0_r, f32_0.
  unfold exp2_near_horner. simpl bpow. rewrite Rmult_1_l.
  assert (C : exp2_near_c0 = 1) by (unfold exp2_near_c0; simpl; lra). rewrite C.
  destruct F as [-> | ->]; unfold fused, unfused; rewrite Rmult_0_r, ?f32_0, Rplus_0_l; apply f32_1.
Qed.

(** [kernel numbers] Scaling by 2^n is exact, for -87.3 <= x <= 88: 2^f lies in [1/2, 2], the result in
    [2^-126, 2^128), so n may be added to the exponent field, and the result is an f32. *)
Theorem exp_scaling fma x : multiply_add fma -> exp_lowest <= x <= exp_highest ->
  1 / 2 <= exp2_near_horner fma (exp_rest fma x) <= 2 /\
  smallest_normal <= exp_f32 fma x < bpow radix2 128 /\ f32 (exp_f32 fma x) = exp_f32 fma x.
Proof.
  intros F Hx. pose proof (exp_range x Hx) as X. destruct (exp_reduction fma x F Hx) as (_ & R & _).
  assert (P : 1 / 2 <= exp2_near_horner fma (exp_rest fma x) <= 2).
  { assert (E : Rabs (exp2_near_horner fma (exp_rest fma x) - exp (exp_rest fma x * ln 2))
      <= 33 / 10 * u * exp (exp_rest fma x * ln 2)).
    { unfold exp_rest. apply exp2_near_evaluated; [exact F|]. fold (exp_rest fma x).
      apply Rabs_le_between in R. lra. }
    apply Rabs_le_between in R. pose proof (exp2_range (exp_rest fma x) ltac:(lra)) as B.
    rewrite u_value in E. apply Rabs_le_between in E. lra. }
  assert (B : smallest_normal <= exp_f32 fma x < bpow radix2 128).
  { pose proof (exp_f32_error fma x F Hx) as E.
    assert (AX : Rabs x <= 88) by (apply Rabs_le; lra).
    assert (E' : Rabs (exp_f32 fma x - exp x) <= 1 / 100000 * exp x).
    { eapply Rle_trans; [exact E|]. apply Rmult_le_compat_r; [left; apply exp_pos|].
      rewrite u_value. lra. }
    pose proof (exp_extremes x ltac:(lra)) as [L H]. apply Rabs_le_between in E'.
    rewrite (bpow_exp radix2 128). change (IZR radix2) with 2. unfold smallest_normal.
    rewrite (bpow_exp radix2 (-126)). change (IZR radix2) with 2. lra. }
  split; [exact P|]. split; [exact B|].
  rewrite f32_round. apply round_generic; [apply valid_rnd_N|].
  unfold exp_f32 in *. rewrite Rmult_comm in *. apply mult_bpow_exact_FLT.
  - assert (G : f32 (exp2_near_horner fma (exp_rest fma x)) = exp2_near_horner fma (exp_rest fma x)).
    { unfold exp2_near_horner.
      destruct F as [-> | ->]; [unfold fused at 1 6 | unfold unfused at 1 6]; apply f32_idempotent. }
    rewrite <- G, f32_round. apply generic_format_round; [apply FLT_exp_valid, f32_precision | apply valid_rnd_N].
  - (* the product is normal, so its exponent is at least -125 *)
    set (p := exp2_near_horner fma (exp_rest fma x)) in *. set (n := exp_steps fma x) in *.
    assert (M : (-125 <= mag radix2 (p * bpow radix2 n))%Z).
    { apply mag_ge_bpow. rewrite Rabs_right; [apply B|]. apply Rle_ge.
      apply Rle_trans with smallest_normal; [left; apply smallest_normal_pos | apply B]. }
    rewrite mag_mult_bpow in M by lra. lia.
Qed.
