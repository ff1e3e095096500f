(** * Taylor: equation (13) with explicit remainders

    On the unit time line, with u = a_{i-1} - a_i and w = a_{i+1} - a_i, all in
    [-1/2, 1/2]:
      inside    b = (u+w)/6 + (u^2 - u w + w^2)/36 + third order,
      at ends   b = -log 2 + u/3 + u^2/36 + third order,
    and every remainder is bounded by a stated multiple of |u|^3 + |w|^3. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment Sums Curve Attention Uniform.
Open Scope R_scope.

(** ** phi2 to second order *)

(** The weights of phi4 and phi5. *)
Definition phi4 (x : R) : R := expint (fun s => (1 - s) ^ 3 / 6) x.
Definition phi5 (x : R) : R := expint (fun s => (1 - s) ^ 4 / 24) x.
Lemma cts_w4 : cts (fun s => (1 - s) ^ 3 / 6).  Proof. cts. Qed.
Lemma cts_w5 : cts (fun s => (1 - s) ^ 4 / 24).  Proof. cts. Qed.

Lemma phi4_recurrence x : phi3 x = x * phi4 x + 1 / 6.
Proof.
  unfold phi4.
  rewrite (expint_parts (fun s => (1 - s) ^ 3 / 6) (fun s => -1 * ((1 - s) ^ 2 / 2) + 0 * 1) x).
  - rewrite (expint_lin (fun s => (1 - s) ^ 2 / 2) (fun _ => 1)) by cts. rewrite phi3_expint. field.
  - intros s. deriv.
  - cts.
Qed.
Lemma phi5_recurrence x : phi4 x = x * phi5 x + 1 / 24.
Proof.
  unfold phi5.
  rewrite (expint_parts (fun s => (1 - s) ^ 4 / 24) (fun s => -1 * ((1 - s) ^ 3 / 6) + 0 * 1) x).
  - rewrite (expint_lin (fun s => (1 - s) ^ 3 / 6) (fun _ => 1)) by cts. unfold phi4. field.
  - intros s. deriv.
  - cts.
Qed.

(** [(13)] phi2(x) = 1/2 + x/6 + x^2/24 + x^3 phi5(x). *)
Theorem phi2_expansion x : phi2 x = 1 / 2 + x / 6 + x ^ 2 / 24 + x ^ 3 * phi5 x.
Proof. rewrite phi3_recurrence, phi4_recurrence, phi5_recurrence. field. Qed.

Lemma exp_half : exp (1 / 2) <= 2.
Proof.
  pose proof (exp_ge_1p (- (1 / 2))) as H. rewrite exp_Ropp in H.
  pose proof (exp_pos (1 / 2)) as P.
  apply (Rmult_le_compat_r (exp (1 / 2))) in H; [|lra]. rewrite Rinv_l in H by lra. lra.
Qed.
Lemma phi5_bounds x : x <= 1 / 2 -> 0 < phi5 x <= 1 / 60.
Proof.
  intros Hx. split.
  - apply expint_pos; [apply cts_w5|]. intros s Hs.
    assert (0 < (1 - s) ^ 4) by (apply pow_lt; lra). lra.
  - apply Rle_trans with (RInt (fun s => 2 * ((1 - s) ^ 4 / 24)) 0 1).
    + apply RInt_le_cts; [lra | cts | cts |]. intros s Hs.
      apply Rmult_le_compat_r.
      * assert (0 <= (1 - s) ^ 4) by (apply pow_le; lra). lra.
      * apply Rle_trans with (exp (1 / 2)); [|apply exp_half]. apply exp_le_mono. nra.
    + right. apply is_RInt_value.
      apply (is_RInt_antiderivative (fun s => - (1 - s) ^ 5 / 60)); [intros s; deriv | cts | field].
Qed.

(** [(13)] abs(phi2(x) - 1/2 - x/6 - x^2/24) <= abs(x)^3 / 60 for x in [-1/2, 1/2]. *)
Theorem phi2_second_order x : -(1/2) <= x <= 1/2 ->
  Rabs (phi2 x - (1 / 2 + x / 6 + x ^ 2 / 24)) <= Rabs x ^ 3 / 60.
Proof.
  intros Hx. rewrite phi2_expansion.
  replace (1 / 2 + x / 6 + x ^ 2 / 24 + x ^ 3 * phi5 x - (1 / 2 + x / 6 + x ^ 2 / 24))
    with (x ^ 3 * phi5 x) by ring.
  destruct (phi5_bounds x ltac:(lra)) as [P5 B5].
  rewrite Rabs_mult, <- RPow_abs, (Rabs_right (phi5 x)) by lra.
  assert (0 <= Rabs x ^ 3) by (apply pow_le, Rabs_pos).
  unfold Rdiv. apply Rmult_le_compat_l; lra.
Qed.

(** ** log(1+z) to second order *)

Lemma ln_second_order z : -(1/5) <= z <= 1/5 ->
  Rabs (ln (1 + z) - (z - z ^ 2 / 2)) <= 5 / 4 * Rabs z ^ 3.
Proof.
  intros Hz. set (f := fun t => ln (1 + t) - (t - t ^ 2 / 2)).
  assert (D : forall t, -(1/5) <= t <= 1/5 -> is_derive f t (t ^ 2 / (1 + t))).
  { intros t Ht. unfold f. auto_derive; [lra|]. real_eq. field. lra. }
  assert (RB : forall c, Rmin 0 z <= c <= Rmax 0 z -> -(1/5) <= c <= 1/5 /\ Rabs c <= Rabs z).
  { intros c. unfold Rmin, Rmax. destruct (Rle_dec 0 z); intros Hc.
    - rewrite !Rabs_right by lra. lra.
    - rewrite (Rabs_left z) by lra. rewrite Rabs_left1 by lra. lra. }
  destruct (MVT_gen f 0 z (fun t => t ^ 2 / (1 + t))) as [c [Hc E]].
  - intros t Ht. apply D, RB. lra.
  - intros t Ht. apply continuity_pt_filterlim.
    apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)).
    eexists. apply D, RB, Ht.
  - assert (F0 : f 0 = 0) by (unfold f; rewrite Rplus_0_r, ln_1; field).
    rewrite F0, !Rminus_0_r in E. change (Rabs (f z) <= 5 / 4 * Rabs z ^ 3). rewrite E.
    destruct (RB c Hc) as [C1 C2]. rewrite Rabs_mult.
    replace (5 / 4 * Rabs z ^ 3) with (5 / 4 * Rabs z ^ 2 * Rabs z) by ring.
    apply Rmult_le_compat_r; [apply Rabs_pos|].
    assert (I : 0 < / (1 + c) <= 5 / 4).
    { split; [apply Rinv_0_lt_compat; lra|].
      apply Rmult_le_reg_r with (1 + c); [lra|]. rewrite Rinv_l; lra. }
    unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_right (/ (1 + c))) by lra.
    rewrite <- RPow_abs, Rmult_comm.
    assert (Rabs c ^ 2 <= Rabs z ^ 2) by (apply pow_incr; split; [apply Rabs_pos | exact C2]).
    assert (0 <= Rabs c ^ 2) by (apply pow_le, Rabs_pos).
    apply Rmult_le_compat; lra.
Qed.

(** ** Inside *)

Lemma Rabs_le_3 x y z a b c : Rabs x <= a -> Rabs y <= b -> Rabs z <= c ->
  Rabs (x + y + z) <= a + b + c.
Proof.
  intros. pose proof (Rabs_triang (x + y) z). pose proof (Rabs_triang x y). lra.
Qed.

(** [(13)] log(phi2(u) + phi2(w)) = (u+w)/6 + (u^2 - uw + w^2)/36 + r, abs(r) <= (abs(u)^3 +
    abs(w)^3)/12, for u, w in [-1/2, 1/2]. *)
Theorem bias_second_order u w : -(1/2) <= u <= 1/2 -> -(1/2) <= w <= 1/2 ->
  Rabs (ln (phi2 u + phi2 w) - ((u + w) / 6 + (u ^ 2 - u * w + w ^ 2) / 36))
  <= (Rabs u ^ 3 + Rabs w ^ 3) / 12.
Proof.
  intros Hu Hw.
  pose proof (phi2_second_order u Hu) as Pu. pose proof (phi2_second_order w Hw) as Pw.
  set (U := Rabs u) in *. set (W := Rabs w) in *.
  assert (HU : 0 <= U <= 1/2) by (split; [apply Rabs_pos | apply Rabs_le; lra]).
  assert (HW : 0 <= W <= 1/2) by (split; [apply Rabs_pos | apply Rabs_le; lra]).
  assert (U2 : U ^ 2 = u ^ 2) by apply pow2_abs.
  assert (W2 : W ^ 2 = w ^ 2) by apply pow2_abs.
  set (m := U + W). set (q := u ^ 2 + w ^ 2). set (t := U ^ 3 + W ^ 3).
  assert (Hq0 : 0 <= q) by (unfold q; rewrite <- U2, <- W2; nra).
  assert (Hqm : q <= m / 2) by (unfold q, m; rewrite <- U2, <- W2; nra).
  assert (Ht0 : 0 <= t) by (unfold t; assert (0 <= U ^ 3) by (apply pow_le; lra);
                            assert (0 <= W ^ 3) by (apply pow_le; lra); lra).
  assert (Htm : t <= m / 4).
  { assert (forall y, 0 <= y <= 1/2 -> y ^ 3 <= y / 4).
    { intros y Hy. assert (0 <= y * ((1/2 - y) * (1/2 + y))) by
        (repeat apply Rmult_le_pos; lra). lra. }
    pose proof (H U HU). pose proof (H W HW). unfold t, m. lra. }
  assert (Hmq : m * q <= 2 * t).
  { unfold m, q, t. rewrite <- U2, <- W2.
    assert (0 <= (U + W) * (U - W) ^ 2) by (apply Rmult_le_pos; [lra | apply pow2_ge_0]). lra. }
  assert (Hm3 : m ^ 3 <= 4 * t).
  { unfold m, t.
    assert (0 <= (U + W) * (U - W) ^ 2) by (apply Rmult_le_pos; [lra | apply pow2_ge_0]). lra. }
  assert (Hm : 0 <= m <= 1) by (unfold m; lra).
  set (s := u + w).
  assert (Hs : Rabs s <= m) by (unfold s, m, U, W; apply Rabs_triang).
  set (r := (phi2 u - (1 / 2 + u / 6 + u ^ 2 / 24)) + (phi2 w - (1 / 2 + w / 6 + w ^ 2 / 24))).
  assert (Hr : Rabs r <= t / 60).
  { unfold r. eapply Rle_trans; [apply Rabs_triang|]. unfold t. lra. }
  set (z := s / 6 + (q / 24 + r)).
  assert (Ez : phi2 u + phi2 w = 1 + z) by (unfold z, r, s, q; field).
  assert (Hd : Rabs (q / 24 + r) <= q / 24 + t / 60).
  { eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_right (q / 24)) by lra. lra. }
  assert (Hs6 : Rabs (s / 6) <= m / 6).
  { unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_right (/ 6)) by lra. lra. }
  assert (Hz : Rabs z <= m / 5).
  { unfold z. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (Hz' : -(1/5) <= z <= 1/5) by (apply Rabs_le_between; lra).
  rewrite Ez.
  pose proof (ln_second_order z Hz') as Hl.
  assert (Hz3 : Rabs z ^ 3 <= t / 31.25).
  { apply Rle_trans with ((m / 5) ^ 3).
    - apply pow_incr. split; [apply Rabs_pos | exact Hz].
    - replace ((m / 5) ^ 3) with (m ^ 3 / 125) by field. lra. }
  assert (Hp : Rabs ((q / 24 + r) * (z + s / 6)) <= (q / 24 + t / 60) * (11 / 30 * m)).
  { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [exact Hd|].
    eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (Hp' : (q / 24 + t / 60) * (11 / 30 * m) <= t * (22 / 720 + 11 / 1800)).
  { assert (t * m <= t * 1) by (apply Rmult_le_compat_l; lra). nra. }
  replace (ln (1 + z) - (s / 6 + (u ^ 2 - u * w + w ^ 2) / 36))
    with ((ln (1 + z) - (z - z ^ 2 / 2)) + r + - (1/2) * ((q / 24 + r) * (z + s / 6))).
  2:{ unfold z, s, q. field. }
  eapply Rle_trans; [apply (Rabs_le_3 _ _ _ (t / 25) (t / 60) (1 / 2 * (t * (22 / 720 + 11 / 1800))))|].
  - lra.
  - exact Hr.
  - rewrite Rabs_mult, (Rabs_left (- (1/2))) by lra. lra.
  - lra.
Qed.

(** [(13)] log(phi2(u) + phi2(w)) = (u+w)/6 + r, abs(r) <= (u^2 + w^2)/12, for u, w in [-1/2,
    1/2]. *)
Theorem bias_first_order u w : -(1/2) <= u <= 1/2 -> -(1/2) <= w <= 1/2 ->
  Rabs (ln (phi2 u + phi2 w) - (u + w) / 6) <= (u ^ 2 + w ^ 2) / 12.
Proof.
  intros Hu Hw. pose proof (bias_second_order u w Hu Hw) as B.
  assert (C : forall x, -(1/2) <= x <= 1/2 -> Rabs x ^ 3 <= x ^ 2 / 2).
  { intros x Hx. rewrite <- (pow2_abs x).
    assert (0 <= Rabs x <= 1/2) by (split; [apply Rabs_pos | apply Rabs_le; lra]).
    assert (0 <= Rabs x ^ 2 * (1/2 - Rabs x)) by (apply Rmult_le_pos; [apply pow2_ge_0 | lra]). lra. }
  pose proof (C u Hu). pose proof (C w Hw).
  apply Rabs_le_between in B. apply Rabs_le_between.
  pose proof (pow2_ge_0 (u + w)). pose proof (pow2_ge_0 (u - w)). lra.
Qed.

(** [(13)] b_i = (a_{i-1} + a_{i+1} - 2 a_i)/6 + r, abs(r) <= (u^2 + w^2)/12, u = a_{i-1} - a_i
    and w = a_{i+1} - a_i in [-1/2, 1/2]. *)
Theorem eq13 a t i : (S i < t)%nat ->
  let u := a i - a (S i) in let w := a (S (S i)) - a (S i) in
  -(1/2) <= u <= 1/2 -> -(1/2) <= w <= 1/2 ->
  Rabs (bias INR a t 0 (INR t) (S i) - (a i + a (S (S i)) - 2 * a (S i)) / 6)
  <= (u ^ 2 + w ^ 2) / 12.
Proof.
  intros L u w Hu Hw. rewrite <- (ln_exp (bias INR a t 0 (INR t) (S i))), eq10_inside by exact L.
  fold u w. replace (a i + a (S (S i)) - 2 * a (S i)) with (u + w) by (unfold u, w; ring).
  now apply bias_first_order.
Qed.

(** [(13)] b_i = (u+w)/6 + (u^2 - uw + w^2)/36 + r, abs(r) <= (abs(u)^3 + abs(w)^3)/12. *)
Theorem eq13_second_order a t i : (S i < t)%nat ->
  let u := a i - a (S i) in let w := a (S (S i)) - a (S i) in
  -(1/2) <= u <= 1/2 -> -(1/2) <= w <= 1/2 ->
  Rabs (bias INR a t 0 (INR t) (S i) - ((u + w) / 6 + (u ^ 2 - u * w + w ^ 2) / 36))
  <= (Rabs u ^ 3 + Rabs w ^ 3) / 12.
Proof.
  intros L u w Hu Hw. rewrite <- (ln_exp (bias INR a t 0 (INR t) (S i))), eq10_inside by exact L.
  fold u w. now apply bias_second_order.
Qed.

(** ** At the ends *)

(** [(13)] log phi2(u) = -log 2 + u/3 + u^2/36 + r, abs(r) <= abs(u)^3/6, for u in [-1/2, 1/2].
    *)
Theorem end_bias_second_order u : -(1/2) <= u <= 1/2 ->
  Rabs (ln (phi2 u) - (- ln 2 + u / 3 + u ^ 2 / 36)) <= Rabs u ^ 3 / 6.
Proof.
  intros Hu. pose proof (phi2_second_order u Hu) as Pu.
  set (U := Rabs u) in *.
  assert (HU : 0 <= U <= 1/2) by (split; [apply Rabs_pos | apply Rabs_le; lra]).
  assert (U2 : U ^ 2 = u ^ 2) by apply pow2_abs.
  set (r := phi2 u - (1 / 2 + u / 6 + u ^ 2 / 24)) in *.
  set (q := u ^ 2). set (t := U ^ 3) in *.
  assert (Hq0 : 0 <= q) by apply pow2_ge_0.
  assert (Hqm : q <= U / 2) by (unfold q; rewrite <- U2; nra).
  assert (Hqt : q * U = t) by (unfold q, t; rewrite <- U2; ring).
  assert (Ht0 : 0 <= t) by (apply pow_le; lra).
  assert (Htm : t <= U / 4).
  { unfold t. assert (0 <= U * ((1/2 - U) * (1/2 + U))) by (repeat apply Rmult_le_pos; lra). lra. }
  set (z := u / 3 + (q / 12 + 2 * r)).
  assert (Ez : phi2 u = / 2 * (1 + z)) by (unfold z, r, q; field).
  assert (Hd : Rabs (q / 12 + 2 * r) <= q / 12 + t / 30).
  { eapply Rle_trans; [apply Rabs_triang|].
    rewrite (Rabs_right (q / 12)) by lra. rewrite Rabs_mult, (Rabs_right 2) by lra. lra. }
  assert (Hu3 : Rabs (u / 3) <= U / 3).
  { unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_right (/ 3)) by lra. fold U. lra. }
  assert (Hz : Rabs z <= 2 / 5 * U).
  { unfold z. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (Hz' : -(1/5) <= z <= 1/5) by (apply Rabs_le_between; lra).
  rewrite Ez, ln_mult, ln_Rinv by lra.
  pose proof (ln_second_order z Hz') as Hl.
  assert (Hz3 : Rabs z ^ 3 <= 8 / 125 * t).
  { apply Rle_trans with ((2 / 5 * U) ^ 3).
    - apply pow_incr. split; [apply Rabs_pos | exact Hz].
    - unfold t. right. field. }
  assert (Hp : Rabs ((q / 12 + 2 * r) * (z + u / 3)) <= (q / 12 + t / 30) * (11 / 15 * U)).
  { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [exact Hd|].
    eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (Hp' : (q / 12 + t / 30) * (11 / 15 * U) <= t * (11 / 180 + 11 / 900)).
  { replace ((q / 12 + t / 30) * (11 / 15 * U)) with (11 / 180 * (q * U) + 11 / 450 * (t * U)) by field.
    rewrite Hqt. assert (t * U <= t * (1/2)) by (apply Rmult_le_compat_l; lra). lra. }
  replace (- ln 2 + ln (1 + z) - (- ln 2 + u / 3 + q / 36))
    with ((ln (1 + z) - (z - z ^ 2 / 2)) + 2 * r + - (1/2) * ((q / 12 + 2 * r) * (z + u / 3))).
  2:{ unfold z, q. field. }
  eapply Rle_trans;
    [apply (Rabs_le_3 _ _ _ (2 / 25 * t) (t / 30) (1 / 2 * (t * (11 / 180 + 11 / 900))))|].
  - lra.
  - rewrite Rabs_mult, (Rabs_right 2) by lra. lra.
  - rewrite Rabs_mult, (Rabs_left (- (1/2))) by lra. lra.
  - lra.
Qed.

(** [(13)] b_0 = -log 2 + u/3 + u^2/36 + r, abs(r) <= abs(u)^3/6, u = a_1 - a_0 in [-1/2, 1/2].
    *)
Theorem eq13_first a t : (0 < t)%nat ->
  let u := a 1%nat - a 0%nat in -(1/2) <= u <= 1/2 ->
  Rabs (bias INR a t 0 (INR t) 0 - (- ln 2 + u / 3 + u ^ 2 / 36)) <= Rabs u ^ 3 / 6.
Proof.
  intros L u Hu. rewrite <- (ln_exp (bias INR a t 0 (INR t) 0)), eq10_at_first by exact L.
  now apply end_bias_second_order.
Qed.

(** [(13)] b_t = -log 2 + u/3 + u^2/36 + r, abs(r) <= abs(u)^3/6, u = a_{t-1} - a_t in [-1/2,
    1/2]. *)
Theorem eq13_last a m :
  let u := a m - a (S m) in -(1/2) <= u <= 1/2 ->
  Rabs (bias INR a (S m) 0 (INR (S m)) (S m) - (- ln 2 + u / 3 + u ^ 2 / 36)) <= Rabs u ^ 3 / 6.
Proof.
  intros u Hu. rewrite <- (ln_exp (bias INR a (S m) 0 (INR (S m)) (S m))), eq10_at_last.
  now apply end_bias_second_order.
Qed.
