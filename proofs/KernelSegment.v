(** * KernelSegment: the shares of a segment as the tiled kernels evaluate them

    [Linear] of crates/cpu/src/tiled/segment.rs, step by step.  Given are
    x = a_1 - a_0 as an f32, and two numbers E0, E1 near D e^{a_0}, D e^{a_1},
    however they came about.  What is evaluated is compared with the exact
    shares [linear D a0 a1]. *)

From Coq Require Import Reals Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From Flocq Require Import Core.
From Interval Require Import Tactic.
From ContAttn Require Import Calculus Phi Series Segment Polynomials Rounding Numbers KernelExponential.
Open Scope R_scope.

(** ** What the kernel does *)

(** abs(x) < 1 *)
Definition near_left fma (x E0 : R) : R := f32 (E0 * phi2_near_horner fma x).
Definition near_mass fma (x E0 : R) : R := fma x (near_left fma x E0) E0.
Definition near_right fma (x E0 : R) : R := f32 (near_mass fma x E0 - near_left fma x E0).
Definition near_coupling fma (x E0 : R) : R := f32 (E0 * psi_near_horner fma x).
Definition near_right_coupled fma (x E0 : R) : R := fma x (near_coupling fma x E0) (near_left fma x E0).

(** abs(x) >= 1 *)
Definition far_mass (x E0 E1 : R) : R := f32 (f32 (E1 - E0) * f32 (/ x)).
Definition far_left (x E0 E1 : R) : R := f32 (f32 (far_mass x E0 E1 - E0) * f32 (/ x)).
Definition far_right (x E0 E1 : R) : R := f32 (f32 (E1 - far_mass x E0 E1) * f32 (/ x)).
Definition far_coupling (x E0 E1 : R) : R :=
  f32 (f32 (far_right x E0 E1 - far_left x E0 E1) * f32 (/ x)).

(** The selection.  [kernel_right_coupled] is R where h is wanted as well. *)
Definition near_or_far (x n f : R) : R := if Rlt_dec (Rabs x) 1 then n else f.
Definition kernel_left fma x E0 E1 := near_or_far x (near_left fma x E0) (far_left x E0 E1).
Definition kernel_mass fma x E0 E1 := near_or_far x (near_mass fma x E0) (far_mass x E0 E1).
Definition kernel_right fma x E0 E1 := near_or_far x (near_right fma x E0) (far_right x E0 E1).
Definition kernel_coupling fma x E0 E1 := near_or_far x (near_coupling fma x E0) (far_coupling x E0 E1).
Definition kernel_right_coupled fma x E0 E1 :=
  near_or_far x (near_right_coupled fma x E0) (far_right x E0 E1).

(** p is q up to the relative error c. *)
Definition within (c p q : R) : Prop := Rabs (p - q) <= c * q.

(** ** Errors of products *)

Lemma within_le c c' p q : within c p q -> c <= c' -> 0 <= q -> within c' p q.
Proof. unfold within. intros H C Q. eapply Rle_trans; [exact H|]. now apply Rmult_le_compat_r. Qed.

Lemma perturbed g a d e v : Rabs a <= e -> Rabs d <= v -> Rabs ((g + a) * (1 + d) - g) <= e * (1 + v) + Rabs g * v.
Proof.
  intros A D. replace ((g + a) * (1 + d) - g) with (a * (1 + d) + g * d) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
  assert (V : Rabs (1 + d) <= 1 + v)
    by (eapply Rle_trans; [apply Rabs_triang|]; rewrite Rabs_R1; lra).
  apply Rplus_le_compat; [apply Rmult_le_compat; auto; apply Rabs_pos|].
  apply Rmult_le_compat_l; [apply Rabs_pos | exact D].
Qed.

Lemma product_of_errors a b c d : Rabs a <= c -> Rabs b <= d -> Rabs ((1 + a) * (1 + b) - 1) <= c + d + c * d.
Proof.
  intros A B. pose proof (perturbed 1 a b c d A B) as H. rewrite Rabs_R1 in H. lra.
Qed.

Lemma rounded_small W : smallest_normal = W -> W <= 1 / 1024.
Proof.
  intros <-. replace (1 / 1024) with (bpow radix2 (-10)) by (simpl; lra). now apply bpow_le.
Qed.

(** A difference, rounded, times the rounded reciprocal of X, rounded. *)
Lemma divided z X : 1 <= X <= 1024 -> 2048 * smallest_normal <= Rabs z ->
  exists d, Rabs d <= 3001 / 1000 * u /\ f32 (f32 z * f32 (/ X)) = z / X * (1 + d).
Proof.
  intros HX Hz. pose proof smallest_normal_pos as W. pose proof (rounded_small _ eq_refl) as W1.
  assert (I : / 1024 <= / X <= 1).
  { split; [apply Rinv_le_contravar; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  destruct (f32_relative z ltac:(lra)) as (d1 & D1 & E1).
  destruct (f32_relative (/ X)) as (d2 & D2 & E2); [rewrite Rabs_right by lra; lra|].
  assert (U : u <= 1 / 1000) by (rewrite u_value; lra).
  assert (Y : smallest_normal <= Rabs (f32 z * f32 (/ X))).
  { rewrite E1, E2, !Rabs_mult, (Rabs_right (/ X)) by lra.
    apply Rabs_le_between in D1, D2.
    rewrite (Rabs_right (1 + d1)), (Rabs_right (1 + d2)) by lra.
    assert (A : 2 * smallest_normal <= Rabs z * / X).
    { apply Rle_trans with (2048 * smallest_normal * / 1024); [lra|]. apply Rmult_le_compat; lra. }
    replace (Rabs z * (1 + d1) * (/ X * (1 + d2))) with (Rabs z * / X * ((1 + d1) * (1 + d2))) by ring.
    apply Rle_trans with (2 * smallest_normal * (998 / 1000)); [lra|].
    apply Rmult_le_compat; try lra. nra. }
  destruct (f32_relative _ Y) as (d3 & D3 & E3).
  exists ((1 + ((1 + d1) * (1 + d2) - 1)) * (1 + d3) - 1). split.
  - eapply Rle_trans; [apply product_of_errors; [apply product_of_errors; eassumption | exact D3]|].
    rewrite u_value. lra.
  - rewrite E3, E1, E2. unfold Rdiv. ring.
Qed.

Lemma large_quotient B z X : 1 <= X <= 1024 -> 268435456 * smallest_normal <= B -> B / 10 <= X * z ->
  2048 * smallest_normal <= Rabs z.
Proof.
  intros HX HB H. pose proof smallest_normal_pos as W. eapply Rle_trans; [|apply Rle_abs].
  apply (Rmult_le_reg_l X); [lra|].
  apply Rle_trans with (1024 * (2048 * smallest_normal)); [apply Rmult_le_compat_r; lra | lra].
Qed.

(** ** The quotients, for a segment with exponentials B > S = B e^{-X}, evaluated as b and s *)

Definition far_m (X b s : R) : R := f32 (f32 (b - s) * f32 (/ X)).
Definition far_big (X b s : R) : R := f32 (f32 (b - far_m X b s) * f32 (/ X)).
Definition far_small (X b s : R) : R := f32 (f32 (far_m X b s - s) * f32 (/ X)).
Definition far_h (X b s : R) : R := f32 (f32 (far_big X b s - far_small X b s) * f32 (/ X)).

Lemma far_positive x E0 E1 : far_mass x E0 E1 = far_m x E1 E0 /\ far_left x E0 E1 = far_small x E1 E0 /\
  far_right x E0 E1 = far_big x E1 E0 /\ far_coupling x E0 E1 = far_h x E1 E0.
Proof. repeat split; reflexivity. Qed.

Lemma f32_opp_mult a b X : f32 (f32 (a - b) * f32 (/ - X)) = f32 (f32 (b - a) * f32 (/ X)).
Proof.
  replace (a - b) with (- (b - a)) by ring. rewrite Rinv_opp, !f32_opp. f_equal. ring.
Qed.

Lemma far_negative X E0 E1 : far_mass (- X) E0 E1 = far_m X E0 E1 /\
  far_left (- X) E0 E1 = far_big X E0 E1 /\ far_right (- X) E0 E1 = far_small X E0 E1 /\
  far_coupling (- X) E0 E1 = far_h X E0 E1.
Proof.
  assert (M : far_mass (- X) E0 E1 = far_m X E0 E1) by apply f32_opp_mult.
  assert (L : far_left (- X) E0 E1 = far_big X E0 E1)
    by (unfold far_left; rewrite M; apply f32_opp_mult).
  assert (R : far_right (- X) E0 E1 = far_small X E0 E1)
    by (unfold far_right; rewrite M; apply f32_opp_mult).
  repeat split; auto. unfold far_coupling. rewrite L, R. apply f32_opp_mult.
Qed.

Section Far.
Variables X B S b s eb es : R.
Let t := exp (- X).
Hypothesis HX : 1 <= X <= 1024.
Hypothesis HS : S = B * t.
Hypothesis HB : 268435456 * smallest_normal <= B.
Hypothesis Hb : Rabs (b - B) <= eb.
Hypothesis Hs : Rabs (s - S) <= es.
Hypothesis Heb : eb <= / 1024 * B.
Hypothesis Hes : es <= / 1024 * S.

(** The exact numerators of the two shares and of h. *)
Let g := X * B - (B - S).
Let k := (B - S) - X * S.
Let h := g - k.

Lemma far_t : 0 < t /\ t <= 3679 / 10000 /\ (1 + X) * t <= 736 / 1000 /\
  3678 / 10000 <= X - 1 + t /\ X / 10 <= X - 2 + (X + 2) * t.
Proof.
  assert (C : 0 <= X - 2 + (X + 2) * t - X / 10)
    by (unfold t; interval with (i_bisect X, i_autodiff X, i_depth 30, i_prec 60)).
  split; [apply exp_pos|]. split; [|split; [|split; [|lra]]]; unfold t;
    interval with (i_bisect X, i_autodiff X, i_depth 30, i_prec 60).
Qed.

Lemma far_B : 0 < B.
Proof. pose proof smallest_normal_pos. lra. Qed.

Lemma far_difference : 63 / 100 * B <= B - S /\ 62 / 100 * B <= b - s <= 1003 / 1000 * (B - S).
Proof.
  destruct far_t as (T0 & T1 & _). pose proof far_B as P.
  assert (A : S <= B * (3679 / 10000)) by (rewrite HS; apply Rmult_le_compat_l; lra).
  assert (A' : 0 < S) by (rewrite HS; apply Rmult_lt_0_compat; lra).
  apply Rabs_le_between in Hb, Hs. lra.
Qed.

Lemma far_m_form : exists d, Rabs d <= 3001 / 1000 * u /\ far_m X b s = (b - s) / X * (1 + d).
Proof.
  apply divided; [exact HX|]. destruct far_difference as (_ & D & _). pose proof smallest_normal_pos.
  rewrite Rabs_right by lra. lra.
Qed.

Lemma far_errors_small : 0 <= eb /\ 0 <= es /\ 0 < S /\ (1 + X) * S <= 736 / 1000 * B /\
  0 < B - S /\ (B - S) * u <= B / 1000000.
Proof.
  destruct far_t as (T0 & T1 & T2 & _). pose proof far_B as P.
  assert (A : (1 + X) * S <= B * (736 / 1000)).
  { rewrite HS. replace ((1 + X) * (B * t)) with (B * ((1 + X) * t)) by ring.
    apply Rmult_le_compat_l; lra. }
  assert (A' : 0 < S) by (rewrite HS; apply Rmult_lt_0_compat; lra). destruct far_difference as (D & _).
  pose proof (Rabs_pos (b - B)). pose proof (Rabs_pos (s - S)). rewrite u_value.
  repeat split; lra.
Qed.

(** What the difference b - m, or m - s, is before it is divided: its numerator and an error. *)
Lemma far_numerators : exists a c d, far_m X b s = (b - s) / X * (1 + d) /\
  X * (b - far_m X b s) = g + a /\ X * (far_m X b s - s) = k + c /\
  Rabs (X * far_m X b s - (B - S)) <= 10001 / 10000 * (eb + es) + 301 / 100 * u * (B - S) /\
  Rabs a <= (X - 1) * eb + es + 3011 / 1000 * u * (B - S) /\
  Rabs c <= eb + (1 + X) * es + 3011 / 1000 * u * (B - S).
Proof.
  destruct far_m_form as (d & D & M). destruct far_difference as (_ & D1 & D2).
  destruct far_errors_small as (E1 & E2 & E3 & E4 & E5 & E6). pose proof far_B as P.
  assert (U : 0 < u <= 1 / 1000000) by (rewrite u_value; lra).
  assert (Xm : X * far_m X b s = (b - s) * (1 + d)) by (rewrite M; field; lra).
  assert (T : Rabs ((b - s) * d) <= 3011 / 1000 * u * (B - S)).
  { rewrite Rabs_mult, (Rabs_right (b - s)) by lra.
    apply Rle_trans with (1003 / 1000 * (B - S) * (3001 / 1000 * u)).
    - apply Rmult_le_compat; try apply Rabs_pos; lra.
    - rewrite u_value. lra. }
  exists ((X - 1) * (b - B) + (s - S) - (b - s) * d), ((b - B) - (1 + X) * (s - S) + (b - s) * d), d.
  split; [exact M|].
  split; [rewrite Rmult_minus_distr_l, Xm; unfold g; ring|].
  split; [rewrite Rmult_minus_distr_l, Xm; unfold k; ring|].
  apply Rabs_le_between in Hb, Hs, T. split; [|split].
  - rewrite Xm. replace ((b - s) * (1 + d) - (B - S)) with ((B - S + ((b - B) - (s - S))) * (1 + d) - (B - S))
      by ring.
    assert (A0 : Rabs ((b - B) - (s - S)) <= eb + es) by (apply Rabs_le; lra).
    eapply Rle_trans; [exact (perturbed _ _ _ _ _ A0 D)|].
    rewrite (Rabs_right (B - S)) by lra. rewrite u_value in *. lra.
  - apply Rabs_le. assert (A : Rabs ((X - 1) * (b - B)) <= (X - 1) * eb).
    { rewrite Rabs_mult, Rabs_right by lra. apply Rmult_le_compat_l; [lra|]. apply Rabs_le. lra. }
    apply Rabs_le_between in A. lra.
  - apply Rabs_le. assert (A : Rabs ((1 + X) * (s - S)) <= (1 + X) * es).
    { rewrite Rabs_mult, Rabs_right by lra. apply Rmult_le_compat_l; [lra|]. apply Rabs_le. lra. }
    apply Rabs_le_between in A. lra.
Qed.

Lemma far_exact_range : 3678 / 10000 * B <= g /\ 264 / 1000 * B <= k /\ X * B / 10 <= h /\ g <= X * B /\ k <= B.
Proof.
  destruct far_t as (T0 & T1 & T2 & T3 & T4). pose proof far_B as P.
  destruct far_errors_small as (_ & _ & E3 & E4 & E5 & _).
  assert (G : g = B * (X - 1 + t)) by (unfold g; rewrite HS; ring).
  assert (K : k = B * (1 - (1 + X) * t)) by (unfold k; rewrite HS; ring).
  assert (H : h = B * (X - 2 + (X + 2) * t)) by (unfold h, g, k; rewrite HS; ring).
  assert (XS : 0 <= X * S) by (apply Rmult_le_pos; lra).
  split; [rewrite G; nra|]. split; [rewrite K; nra|]. split; [rewrite H; nra|].
  split; [unfold g; lra | unfold k; lra].
Qed.

(** The errors, in units of the numerators.  Those of the exponentials enter by their derivatives. *)
Lemma far_shares_raw :
  Rabs (X * far_m X b s - (B - S)) <= 10001 / 10000 * (eb + es) + 301 / 100 * u * (B - S) /\
  Rabs (X ^ 2 * far_big X b s - g)
    <= 10001 / 10000 * ((X - 1) * eb + es) + 302 / 100 * u * (B - S) + 301 / 100 * u * g /\
  Rabs (X ^ 2 * far_small X b s - k)
    <= 10001 / 10000 * (eb + (1 + X) * es) + 302 / 100 * u * (B - S) + 301 / 100 * u * k.
Proof.
  destruct far_numerators as (a & c & d & _ & Ga & Kc & HM & A & C).
  destruct far_exact_range as (G & K & _). destruct far_errors_small as (E1 & E2 & E3 & E4 & E5 & E6).
  pose proof far_B as P. pose proof smallest_normal_pos as W.
  assert (U : 0 < u <= 1 / 1000000) by (rewrite u_value; lra).
  assert (XE : (X - 1) * eb <= (X - 1) * (/ 1024 * B)) by (apply Rmult_le_compat_l; lra).
  assert (XS : (1 + X) * es <= (1 + X) * (/ 1024 * S)) by (apply Rmult_le_compat_l; lra).
  assert (XEp : 0 <= (X - 1) * eb) by (apply Rmult_le_pos; lra).
  assert (XSp : 0 <= (1 + X) * es) by (apply Rmult_le_pos; lra).
  split; [exact HM|]. split.
  - assert (L : 36 / 100 * B <= g + a).
    { apply Rabs_le_between in A.
      assert (XB : (X - 1) * B + S = g) by (unfold g; ring). rewrite u_value in A. lra. }
    destruct (divided (b - far_m X b s) X HX) as (d1 & D1 & F).
    { apply (large_quotient B (b - far_m X b s) X); rewrite ?Ga; lra. }
    unfold far_big. rewrite F.
    replace (X ^ 2 * ((b - far_m X b s) / X * (1 + d1)))
      with ((X * (b - far_m X b s)) * (1 + d1)) by (field; lra).
    rewrite Ga. eapply Rle_trans; [apply (perturbed _ _ _ _ _ A D1)|].
    rewrite (Rabs_right g) by lra. rewrite u_value in *. lra.
  - assert (L : 26 / 100 * B <= k + c) by (apply Rabs_le_between in C; rewrite u_value in C; lra).
    destruct (divided (far_m X b s - s) X HX) as (d1 & D1 & F).
    { apply (large_quotient B (far_m X b s - s) X); rewrite ?Kc; lra. }
    unfold far_small. rewrite F.
    replace (X ^ 2 * ((far_m X b s - s) / X * (1 + d1)))
      with ((X * (far_m X b s - s)) * (1 + d1)) by (field; lra).
    rewrite Kc. eapply Rle_trans; [apply (perturbed _ _ _ _ _ C D1)|].
    rewrite (Rabs_right k) by lra. rewrite u_value in *. lra.
Qed.

Lemma far_coupling_raw :
  Rabs (X ^ 3 * far_h X b s - h)
    <= 10003 / 10000 * (X * eb + (2 + X) * es) + (605 / 100 + 302 / 100 * X) * u * (B - S)
       + 301 / 100 * u * h.
Proof.
  destruct far_shares_raw as (_ & G & K). destruct far_exact_range as (Gp & Kp & Hp & _).
  destruct far_errors_small as (E1 & E2 & E3 & E4 & E5 & E6). pose proof far_B as P.
  pose proof smallest_normal_pos as W.
  assert (U : 0 < u <= 1 / 1000000) by (rewrite u_value; lra).
  set (e := 10001 / 10000 * (X * eb + (2 + X) * es) + (604 / 100 + 301 / 100 * X) * u * (B - S)).
  assert (E : Rabs (X ^ 2 * (far_big X b s - far_small X b s) - h) <= e).
  { unfold h. replace (X ^ 2 * (far_big X b s - far_small X b s) - (g - k))
      with ((X ^ 2 * far_big X b s - g) + - (X ^ 2 * far_small X b s - k)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
    assert (GK : g + k = X * (B - S)) by (unfold g, k; ring).
    eapply Rle_trans; [apply Rplus_le_compat; [exact G | exact K]|].
    unfold e. right. replace (301 / 100 * X * u * (B - S)) with (301 / 100 * u * (X * (B - S))) by ring.
    replace ((604 / 100 + 301 / 100 * X) * u * (B - S))
      with (604 / 100 * u * (B - S) + 301 / 100 * u * (X * (B - S))) by ring.
    rewrite <- GK. field. }
  assert (XB : B <= X * B) by (rewrite <- (Rmult_1_l B) at 1; apply Rmult_le_compat_r; lra).
  assert (Be : e <= 22 / 10000 * (X * B)).
  { unfold e. assert (XE : X * eb <= X * (/ 1024 * B)) by (apply Rmult_le_compat_l; lra).
    assert (XS : (2 + X) * es <= (2 + X) * (/ 1024 * S)) by (apply Rmult_le_compat_l; lra).
    assert (XU : (604 / 100 + 301 / 100 * X) * (u * (B - S)) <= (604 / 100 + 301 / 100 * X) * (B / 1000000))
      by (apply Rmult_le_compat_l; lra).
    destruct far_difference as (D & _). lra. }
  assert (L : X * B / 20 <= X ^ 2 * (far_big X b s - far_small X b s))
    by (apply Rabs_le_between in E; lra).
  assert (L' : B / 20 / X <= far_big X b s - far_small X b s).
  { apply (Rmult_le_reg_l (X ^ 2)); [apply pow_lt; lra|]. eapply Rle_trans; [|exact L]. right. field. lra. }
  assert (LX : 2048 * smallest_normal <= B / 20 / X).
  { apply (Rmult_le_reg_r X); [lra|]. replace (B / 20 / X * X) with (B / 20) by (field; lra).
    assert (smallest_normal * X <= smallest_normal * 1024) by (apply Rmult_le_compat_l; lra). lra. }
  destruct (divided (far_big X b s - far_small X b s) X HX) as (d1 & D1 & F);
    [rewrite Rabs_right by lra; lra|].
  unfold far_h. rewrite F.
  replace (X ^ 3 * ((far_big X b s - far_small X b s) / X * (1 + d1)))
    with ((h + (X ^ 2 * (far_big X b s - far_small X b s) - h)) * (1 + d1)) by (field; lra).
  eapply Rle_trans; [apply (perturbed _ _ _ _ _ E D1)|].
  rewrite (Rabs_right h) by lra.
  apply Rle_trans with (e * (1 + 1 / 10000) + h * (3001 / 1000 * u)).
  - apply Rplus_le_compat_r, Rmult_le_compat_l; [|rewrite u_value; lra].
    eapply Rle_trans; [apply Rabs_pos | exact E].
  - assert (P1 : 0 <= X * eb) by (apply Rmult_le_pos; lra).
    assert (P2 : 0 <= (2 + X) * es) by (apply Rmult_le_pos; lra).
    assert (P3 : 0 <= u * (B - S)) by (apply Rmult_le_pos; lra).
    assert (P4 : 0 <= X * (u * (B - S))) by (apply Rmult_le_pos; lra).
    assert (P5 : 0 <= u * h) by (apply Rmult_le_pos; lra).
    clear - P1 P2 P3 P4 P5. unfold e. lra.
Qed.
End Far.

(** ** The quotients, relatively *)

Lemma within_scaled c p n q : 0 < q -> Rabs (q * p - n) <= c * n -> within c p (n / q).
Proof.
  intros Q H. unfold within. replace (p - n / q) with ((q * p - n) / q) by (field; lra).
  unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_right (/ q)) by (left; now apply Rinv_0_lt_compat).
  replace (c * (n / q)) with (c * n * / q) by (field; lra).
  apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat | exact H].
Qed.

(** How the errors compare with the numerators: the factors are largest at X = 1. *)
Lemma far_conditions X : 1 <= X <= 1024 -> let t := exp (- X) in
  0 <= 3 * (1 - t) - 10001 / 10000 * (1 + t) /\
  0 <= 7 * (1 - (1 + X) * t) - 10001 / 10000 * (1 + (1 + X) * t) /\
  0 <= 799 / 100 * (1 - (1 + X) * t) - 302 / 100 * (1 - t) /\
  0 <= 799 / 100 * (X - 1 + t) - 302 / 100 * (1 - t) /\
  0 <= 21 * (X - 2 + (X + 2) * t) - 10003 / 10000 * (X + (2 + X) * t) /\
  0 <= 5699 / 100 * (X - 2 + (X + 2) * t) - (605 / 100 + 302 / 100 * X) * (1 - t).
Proof.
  intros HX t. unfold t. repeat split; interval with (i_bisect X, i_autodiff X, i_depth 30, i_prec 60).
Qed.

(** The same where B is exact and S has the error of the kernels' e^{-X}. *)
Lemma far_conditions_anchored X : 1 <= X <= 87 -> let t := exp (- X) in let c := 4 + X / 4 in
  0 <= 2099 / 100 * (1 - t) - 10001 / 10000 * (c * t) /\
  0 <= 2099 / 100 * (1 - (1 + X) * t) - 10001 / 10000 * ((1 + X) * c * t) - 302 / 100 * (1 - t) /\
  0 <= 2099 / 100 * (X - 1 + t) - 10001 / 10000 * (c * t) - 302 / 100 * (1 - t) /\
  0 <= 11699 / 100 * (X - 2 + (X + 2) * t) - 10003 / 10000 * ((2 + X) * c * t)
       - (605 / 100 + 302 / 100 * X) * (1 - t).
Proof.
  intros HX t c. unfold t, c. repeat split; interval with (i_bisect X, i_autodiff X, i_depth 30, i_prec 60).
Qed.

Lemma far_relative X B b s eps : 1 <= X <= 1024 -> 268435456 * smallest_normal <= B ->
  0 <= eps <= / 1024 -> within eps b B -> within eps s (B * exp (- X)) ->
  let S := B * exp (- X) in
  within (5 * u + 3 * eps) (far_m X b s) ((B - S) / X) /\
  within (11 * u + 7 * eps) (far_big X b s) ((X * B - (B - S)) / X ^ 2) /\
  within (11 * u + 7 * eps) (far_small X b s) (((B - S) - X * S) / X ^ 2) /\
  within (60 * u + 21 * eps) (far_h X b s) ((X * B - (B - S) - ((B - S) - X * S)) / X ^ 3).
Proof.
  intros HX HB He Hb Hs S. unfold within in Hb, Hs.
  pose proof smallest_normal_pos as W. set (t := exp (- X)) in *.
  assert (HS : S = B * t) by reflexivity. assert (T : 0 < t) by apply exp_pos.
  assert (B0 : 0 < B) by lra. assert (S0 : 0 < S) by (rewrite HS; nra).
  assert (Eb : eps * B <= / 1024 * B) by (apply Rmult_le_compat_r; lra).
  assert (Es : eps * S <= / 1024 * S) by (apply Rmult_le_compat_r; lra).
  destruct (far_shares_raw X B S b s _ _ HX HS HB Hb Hs Eb Es) as (M & G & K).
  pose proof (far_coupling_raw X B S b s _ _ HX HS HB Hb Hs Eb Es) as H.
  destruct (far_conditions X HX) as (C1 & C2 & C3 & C4 & C5 & C6). fold t in C1, C2, C3, C4, C5, C6.
  assert (U : 0 < u) by (rewrite u_value; lra).
  assert (eB : 0 <= eps * B) by nra. assert (uB : 0 <= u * B) by nra.
  apply (Rmult_le_compat_l (eps * B)) in C1, C2, C5; [|assumption ..].
  apply (Rmult_le_compat_l (u * B)) in C3, C4, C6; [|assumption ..].
  assert (uBt : 0 <= u * B * t) by (apply Rmult_le_pos; lra).
  assert (Ht : 0 <= u * B * (1 - t)).
  { apply Rmult_le_pos; [lra|]. assert (t <= 1); [|lra]. unfold t. rewrite <- exp_0.
    destruct (Rle_lt_or_eq_dec (- X) 0) as [L | L]; [lra | left; now apply exp_increasing | lra]. }
  assert (HG : 0 <= eps * B * (X - 1 + t)) by (apply Rmult_le_pos; lra).
  split; [|split; [|split]]; apply within_scaled; try (apply pow_lt); try lra;
    (eapply Rle_trans; [eassumption|]); rewrite HS; clear - C1 C2 C3 C4 C5 C6 Ht HG; lra.
Qed.

Lemma far_anchored X s : 1 <= X <= 87 -> within ((4 + X / 4) * u) s (exp (- X)) ->
  let S := exp (- X) in
  within (24 * u) (far_m X 1 s) ((1 - S) / X) /\
  within (24 * u) (far_big X 1 s) ((X * 1 - (1 - S)) / X ^ 2) /\
  within (24 * u) (far_small X 1 s) (((1 - S) - X * S) / X ^ 2) /\
  within (120 * u) (far_h X 1 s) ((X * 1 - (1 - S) - ((1 - S) - X * S)) / X ^ 3).
Proof.
  intros HX Hs S. unfold within in Hs. change (exp (- X)) with S in Hs.
  assert (HB : 268435456 * smallest_normal <= 1).
  { unfold smallest_normal. replace 268435456 with (bpow radix2 28) by (simpl; lra).
    rewrite <- bpow_plus. change 1 with (bpow radix2 0). now apply bpow_le. }
  assert (HS : S = 1 * exp (- X)) by (unfold S; ring).
  assert (T : 0 < S) by apply exp_pos. assert (U : 0 < u) by (rewrite u_value; lra).
  assert (Hb : Rabs (1 - 1) <= 0) by (rewrite Rminus_eq_0, Rabs_R0; lra).
  assert (Eb : 0 <= / 1024 * 1) by lra.
  assert (Es : (4 + X / 4) * u * S <= / 1024 * S) by (apply Rmult_le_compat_r; rewrite ?u_value; lra).
  assert (HX' : 1 <= X <= 1024) by lra.
  destruct (far_shares_raw X 1 S 1 s _ _ HX' HS HB Hb Hs Eb Es) as (M & G & K).
  pose proof (far_coupling_raw X 1 S 1 s _ _ HX' HS HB Hb Hs Eb Es) as H.
  destruct (far_conditions_anchored X HX) as (C1 & C2 & C3 & C4).
  change (exp (- X)) with S in C1, C2, C3, C4.
  apply (Rmult_le_compat_l u) in C1, C2, C3, C4; [|lra ..].
  split; [|split; [|split]]; apply within_scaled; try (apply pow_lt); try lra; (eapply Rle_trans; [eassumption|]);
    clear - C1 C2 C3 C4; lra.
Qed.

(** The exact shares in these terms: x >= 1, and x <= -1. *)
Lemma linear_far_positive D a0 a1 X : a1 - a0 = X -> 1 <= X ->
  let B := D * exp a1 in let S := B * exp (- X) in
  D * exp a0 = S /\ mass (linear D a0 a1) = (B - S) / X /\
  left (linear D a0 a1) = ((B - S) - X * S) / X ^ 2 /\
  right (linear D a0 a1) = (X * B - (B - S)) / X ^ 2 /\
  coupling (linear D a0 a1) = (X * B - (B - S) - ((B - S) - X * S)) / X ^ 3.
Proof.
  intros E HX B S. pose proof (exp_pos X) as P.
  assert (E0 : exp a0 = exp a1 * / exp X) by (rewrite <- exp_Ropp, <- exp_plus; f_equal; lra).
  rewrite linear_mass. unfold linear. cbn [left right coupling]. rewrite E.
  replace (a0 - a1) with (- X) by lra.
  rewrite phi1_closed, !phi2_closed, psi_closed by lra. unfold S, B. rewrite exp_Ropp, !E0.
  repeat split; field; lra.
Qed.

Lemma linear_far_negative D a0 a1 X : a0 - a1 = X -> 1 <= X ->
  let B := D * exp a0 in let S := B * exp (- X) in
  D * exp a1 = S /\ mass (linear D a0 a1) = (B - S) / X /\
  left (linear D a0 a1) = (X * B - (B - S)) / X ^ 2 /\
  right (linear D a0 a1) = ((B - S) - X * S) / X ^ 2 /\
  coupling (linear D a0 a1) = (X * B - (B - S) - ((B - S) - X * S)) / X ^ 3.
Proof.
  intros E HX B S. pose proof (exp_pos X) as P.
  assert (E1 : exp a1 = exp a0 * / exp X) by (rewrite <- exp_Ropp, <- exp_plus; f_equal; lra).
  rewrite linear_mass. unfold linear. cbn [left right coupling]. rewrite E.
  replace (a1 - a0) with (- X) by lra.
  rewrite phi1_closed, !phi2_closed, psi_closed by lra. unfold S, B. rewrite exp_Ropp, !E1.
  repeat split; field; lra.
Qed.

(** ** Near 0 *)

(** How phi2, 1 + x phi2 = phi1 and phi1 - phi2 compare: the worst ratios are at x = -1. *)
Lemma near_conditions x : -1 <= x <= 1 -> let p := phi2 x in let q := 1 + x * p - p in
  367 / 1000 <= p <= 719 / 1000 /\ 63 / 100 <= 1 + x * p /\ 264 / 1000 <= q /\
  x * p <= 59 / 100 * (1 + x * p) /\ - (x * p) <= 59 / 100 * (1 + x * p) /\
  (1 - x) * p <= 279 / 100 * q /\ 1 + x * p <= 24 / 10 * q /\ p <= 14 / 10 * q /\
  x * psi x <= 4 / 10 * q /\ - (x * psi x) <= 4 / 10 * q.
Proof.
  intros Hx p q. pose proof (phi2_range x Hx) as R. fold p in R.
  pose proof (phi2_taylor_error x Hx) as E. pose proof (psi_taylor_error x Hx) as F. fold p in E.
  set (T := phi2_taylor x) in *. set (V := psi_taylor x) in *.
  assert (XE : Rabs (x * (p - T)) <= 1 / 2000000000).
  { rewrite Rabs_mult. assert (Rabs x <= 1) by (apply Rabs_le; lra).
    apply Rle_trans with (1 * (1 / 2000000000)); [|lra]. apply Rmult_le_compat; auto; apply Rabs_pos. }
  assert (XF : Rabs (x * (psi x - V)) <= 1 / 2000000000).
  { rewrite Rabs_mult. assert (Rabs x <= 1) by (apply Rabs_le; lra).
    apply Rle_trans with (1 * (1 / 2000000000)); [|lra]. apply Rmult_le_compat; auto; apply Rabs_pos. }
  assert (C : 631 / 1000 <= 1 + x * T /\ 2641 / 10000 <= 1 + x * T - T /\
    1 / 1000 <= 59 / 100 * (1 + x * T) - x * T /\ 1 / 1000 <= 59 / 100 * (1 + x * T) + x * T /\
    1 / 1000 <= 279 / 100 * (1 + x * T - T) - (1 - x) * T /\
    1 / 1000 <= 24 / 10 * (1 + x * T - T) - (1 + x * T) /\
    1 / 1000 <= 14 / 10 * (1 + x * T - T) - T /\
    1 / 1000 <= 4 / 10 * (1 + x * T - T) - x * V /\ 1 / 1000 <= 4 / 10 * (1 + x * T - T) + x * V).
  { unfold T, V, phi2_taylor, psi_taylor.
    repeat split; interval with (i_bisect x, i_taylor x, i_prec 60). }
  apply Rabs_le_between in E, F, XE, XF. unfold q.
  repeat split; lra.
Qed.

Section Near.
Variables (fma : R -> R -> R -> R) (x E0 : R).
Hypothesis F : multiply_add fma.
Hypothesis Fx : f32 x = x.
Hypothesis Hx : -1 <= x <= 1.
Hypothesis HE : 67108864 * smallest_normal <= E0.

Lemma near_factor p f c : 1 / 10 <= f -> 0 <= c <= 10 -> Rabs (p - f) <= c * u * f ->
  exists b, Rabs b <= (c + 101 / 100) * u /\ f32 (E0 * p) = E0 * f * (1 + b).
Proof.
  intros Hf Hc H. pose proof smallest_normal_pos as W.
  assert (U : 0 < u <= 1 / 1000000) by (rewrite u_value; lra).
  set (a := (p - f) / f). assert (P : p = f * (1 + a)) by (unfold a; field; lra).
  assert (A : Rabs a <= c * u).
  { unfold a, Rdiv. rewrite Rabs_mult, (Rabs_right (/ f)) by (left; apply Rinv_0_lt_compat; lra).
    apply (Rmult_le_reg_r f); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (cu : 0 <= c * u <= 1 / 100000).
  { split; [apply Rmult_le_pos; lra|].
    apply Rle_trans with (10 * (1 / 1000000)); [apply Rmult_le_compat; lra | lra]. }
  assert (L : smallest_normal <= Rabs (E0 * p)).
  { assert (Pp : 9 / 100 <= p).
    { apply Rabs_le_between in A. rewrite P.
      apply Rle_trans with (1 / 10 * (9 / 10)); [lra | apply Rmult_le_compat; lra]. }
    rewrite Rabs_right by (apply Rle_ge, Rmult_le_pos; lra).
    apply Rle_trans with (E0 * (9 / 100)); [lra | apply Rmult_le_compat_l; lra]. }
  destruct (f32_relative _ L) as (d & Dd & E).
  exists ((1 + a) * (1 + d) - 1). split.
  - eapply Rle_trans; [apply (product_of_errors _ _ _ _ A Dd)|].
    assert (c * u * u <= 1 / 100000 * u) by (apply Rmult_le_compat_r; lra). lra.
  - rewrite E, P. ring.
Qed.

Lemma near_left_form : exists b, Rabs b <= 441 / 100 * u /\ near_left fma x E0 = E0 * phi2 x * (1 + b).
Proof.
  destruct (near_conditions x Hx) as (R & _).
  pose proof (phi2_near_evaluated fma x F) as H. rewrite Fx in H. specialize (H Hx).
  assert (R' : 1 / 10 <= phi2 x) by lra. assert (C : 0 <= 34 / 10 <= 10) by lra.
  destruct (near_factor _ _ _ R' C H) as (b & B & E).
  exists b. split; [lra | exact E].
Qed.

Lemma near_coupling_form : exists b, Rabs b <= 766 / 100 * u /\ near_coupling fma x E0 = E0 * psi x * (1 + b).
Proof.
  pose proof (psi_range x Hx) as R.
  pose proof (psi_near_evaluated fma x F) as H. rewrite Fx in H. specialize (H Hx).
  assert (R' : 1 / 10 <= psi x) by lra. assert (C : 0 <= 665 / 100 <= 10) by lra.
  destruct (near_factor _ _ _ R' C H) as (b & B & E).
  exists b. split; [lra | exact E].
Qed.

(** E0 (v + x y), where y is evaluated: fma x (E0 y) (E0 v) in units of E0. *)
Lemma near_sum y v c : Rabs (x * y) <= c -> 1 / 10 <= v + x * y -> 0 <= c <= 2 ->
  exists r, Rabs r <= 10001 / 10000 * (c + (v + x * y)) * u /\ fma x (E0 * y) (E0 * v) = E0 * (v + x * y + r).
Proof.
  intros C V Hc. pose proof smallest_normal_pos as W.
  assert (U : 0 < u <= 1 / 1000000) by (rewrite u_value; lra).
  destruct (multiply_add_error fma x (E0 * y) (E0 * v) F) as (r & Hr & E).
  assert (P : 0 < E0) by lra.
  set (q := r / E0). assert (Q : r = E0 * q) by (unfold q; field; lra).
  assert (Hq : Rabs q <= u * (c + / 67108864)).
  { replace (x * (E0 * y)) with (E0 * (x * y)) in Hr by ring.
    rewrite Q, (Rabs_mult E0 q), (Rabs_mult E0 (x * y)), (Rabs_right E0) in Hr by lra.
    apply (Rmult_le_reg_l E0); [exact P|]. eapply Rle_trans; [exact Hr|].
    assert (A : u * (E0 * Rabs (x * y)) <= u * (E0 * c)) by (repeat apply Rmult_le_compat_l; lra).
    assert (B : u * smallest_normal <= u * (E0 * / 67108864)) by (apply Rmult_le_compat_l; lra).
    lra. }
  assert (q1 : Rabs q <= 1 / 100000).
  { eapply Rle_trans; [exact Hq|].
    apply Rle_trans with (1 / 1000000 * 3); [apply Rmult_le_compat; lra | lra]. }
  assert (L : smallest_normal <= Rabs (x * (E0 * y) + r + E0 * v)).
  { replace (x * (E0 * y) + r + E0 * v) with (E0 * (v + x * y + q)) by (rewrite Q; ring).
    rewrite Rabs_mult, (Rabs_right E0) by lra. apply Rabs_le_between in q1.
    rewrite Rabs_right by lra.
    apply Rle_trans with (E0 * (9 / 100)); [lra | apply Rmult_le_compat_l; lra]. }
  destruct (f32_relative _ L) as (d & Dd & Ed).
  exists (q * (1 + d) + (v + x * y) * d). split.
  - eapply Rle_trans; [apply Rabs_triang|].
    rewrite (Rabs_mult q), (Rabs_mult (v + x * y)), (Rabs_right (v + x * y)) by lra.
    assert (D1 : Rabs (1 + d) <= 1 + u)
      by (eapply Rle_trans; [apply Rabs_triang|]; rewrite Rabs_R1; lra).
    assert (A : Rabs q * Rabs (1 + d) <= u * (c + / 67108864) * (1 + u))
      by (apply Rmult_le_compat; auto; apply Rabs_pos).
    assert (B : (v + x * y) * Rabs d <= (v + x * y) * u) by (apply Rmult_le_compat_l; lra).
    assert (uc : 0 <= u * c) by (apply Rmult_le_pos; lra).
    assert (F1 : u * (u * c) <= 1 / 1000000 * (u * c)) by (apply Rmult_le_compat_r; lra).
    assert (F2 : u * u <= 1 / 1000000 * u) by (apply Rmult_le_compat_r; lra).
    assert (F3 : u * (1 / 10) <= u * (v + x * y)) by (apply Rmult_le_compat_l; lra).
    clear - A B uc F1 F2 F3 U. set (s := v + x * y) in *. lra.
  - rewrite E, Ed, Q. ring.
Qed.

Lemma near_mass_form : exists b r, Rabs b <= 441 / 100 * u /\ Rabs r <= 16 / 10 * u * (1 + x * phi2 x) /\
  near_left fma x E0 = E0 * phi2 x * (1 + b) /\
  near_mass fma x E0 = E0 * (1 + x * phi2 x + x * phi2 x * b + r).
Proof.
  destruct near_left_form as (b & B & L). destruct (near_conditions x Hx) as (R & M & Q & X1 & X2 & _).
  assert (U : 0 < u <= 1 / 1000000) by (rewrite u_value; lra).
  set (m := 1 + x * phi2 x) in *.
  assert (Xp : Rabs (x * phi2 x) <= 59 / 100 * m).
  { apply Rabs_le. lra. }
  assert (m2 : m <= 172 / 100).
  { unfold m. assert (x * phi2 x <= 1 * phi2 x) by (apply Rmult_le_compat_r; lra). lra. }
  assert (mu : u * m <= 1 / 1000000 * m) by (apply Rmult_le_compat_r; lra).
  assert (Xb : Rabs (x * phi2 x * b) <= 59 / 100 * m * (441 / 100 * u))
    by (rewrite Rabs_mult; apply Rmult_le_compat; auto; apply Rabs_pos).
  assert (Xs : Rabs (x * phi2 x * b) <= m / 100000) by lra.
  assert (Xy : Rabs (x * (phi2 x * (1 + b))) <= 5901 / 10000 * m).
  { replace (x * (phi2 x * (1 + b))) with (x * phi2 x + x * phi2 x * b) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (V : 1 + x * (phi2 x * (1 + b)) = m + x * phi2 x * b) by (unfold m; ring).
  apply Rabs_le_between in Xs.
  destruct (near_sum (phi2 x * (1 + b)) 1 (5901 / 10000 * m) Xy) as (r & Hr & E); [lra | lra |].
  rewrite V in Hr, E. exists b, r. split; [exact B|]. split; [|split; [exact L|]].
  - eapply Rle_trans; [exact Hr|].
    assert (Xu : x * phi2 x * b * u <= m / 100000 * u) by (apply Rmult_le_compat_r; lra).
    clear - Xu U M m2. set (z := x * phi2 x * b) in *.
    assert (0 <= m * u) by (apply Rmult_le_pos; lra). lra.
  - unfold near_mass. rewrite L. replace (E0 * phi2 x * (1 + b)) with (E0 * (phi2 x * (1 + b))) by ring.
    rewrite <- (Rmult_1_r E0) at 2. rewrite E. unfold m. ring.
Qed.

Lemma near_mass_relative : exists d, Rabs d <= 425 / 100 * u /\ near_mass fma x E0 = E0 * (1 + x * phi2 x) * (1 + d).
Proof.
  destruct near_mass_form as (b & r & B & Hr & _ & E).
  destruct (near_conditions x Hx) as (R & M & Q & X1 & X2 & _).
  assert (U : 0 < u <= 1 / 1000000) by (rewrite u_value; lra).
  set (m := 1 + x * phi2 x) in *. set (z := x * phi2 x) in *.
  exists ((z * b + r) / m). split; [|rewrite E; unfold m; field; fold m; lra].
  unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ m)) by (left; apply Rinv_0_lt_compat; lra).
  apply (Rmult_le_reg_r m); [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  assert (Z : Rabs z <= 59 / 100 * m) by (apply Rabs_le; lra).
  assert (Rabs z * Rabs b <= 59 / 100 * m * (441 / 100 * u)) by (apply Rmult_le_compat; auto; apply Rabs_pos).
  assert (0 <= m * u) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma near_right_relative : exists d, Rabs d <= 173 / 10 * u /\
  near_right fma x E0 = E0 * (1 + x * phi2 x - phi2 x) * (1 + d).
Proof.
  destruct near_mass_form as (b & r & B & Hr & L & E).
  destruct (near_conditions x Hx) as (R & M & Q & _ & _ & X3 & X4 & _).
  assert (U : 0 < u <= 1 / 1000000) by (rewrite u_value; lra). pose proof smallest_normal_pos as W.
  set (p := phi2 x) in *. set (q := 1 + x * p - p) in *.
  assert (D : near_mass fma x E0 - near_left fma x E0 = E0 * (q + ((x - 1) * p * b + r)))
    by (rewrite E, L; unfold q; ring).
  assert (A : Rabs ((x - 1) * p * b + r) <= 1618 / 100 * u * q).
  { eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
    assert (Pp : 0 <= (1 - x) * p) by (apply Rmult_le_pos; lra).
    assert (P : Rabs ((x - 1) * p) <= 279 / 100 * q) by (apply Rabs_le; lra).
    assert (Rabs ((x - 1) * p) * Rabs b <= 279 / 100 * q * (441 / 100 * u))
      by (apply Rmult_le_compat; auto; apply Rabs_pos).
    assert (16 / 10 * u * (1 + x * p) <= 16 / 10 * u * (24 / 10 * q)) by (apply Rmult_le_compat_l; lra).
    assert (0 <= u * q) by (apply Rmult_le_pos; lra). lra. }
  assert (qu : u * q <= 1 / 1000000 * q) by (apply Rmult_le_compat_r; lra).
  assert (As : Rabs ((x - 1) * p * b + r) <= q / 1000) by lra.
  assert (N : smallest_normal <= Rabs (near_mass fma x E0 - near_left fma x E0)).
  { rewrite D, Rabs_mult, (Rabs_right E0) by lra. apply Rabs_le_between in As.
    rewrite Rabs_right by lra.
    apply Rle_trans with (E0 * (1 / 4)); [lra | apply Rmult_le_compat_l; lra]. }
  destruct (f32_relative _ N) as (d & Dd & F').
  exists ((1 + ((x - 1) * p * b + r) / q) * (1 + d) - 1). split.
  - assert (A' : Rabs (((x - 1) * p * b + r) / q) <= 1618 / 100 * u).
    { unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ q)) by (left; apply Rinv_0_lt_compat; lra).
      apply (Rmult_le_reg_r q); [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact A. }
    eapply Rle_trans; [apply (product_of_errors _ _ _ _ A' Dd)|].
    assert (u * u <= 1 / 1000000 * u) by (apply Rmult_le_compat_r; lra). lra.
  - unfold near_right. rewrite F', D. field. lra.
Qed.

Lemma near_right_coupled_relative : exists d, Rabs d <= 12 * u /\
  near_right_coupled fma x E0 = E0 * (1 + x * phi2 x - phi2 x) * (1 + d).
Proof.
  destruct near_left_form as (b & B & L). destruct near_coupling_form as (c & C & H).
  destruct (near_conditions x Hx) as (R & M & Q & _ & _ & _ & _ & X5 & X6 & X7).
  assert (U : 0 < u <= 1 / 1000000) by (rewrite u_value; lra).
  pose proof (phi2_derive_closed x) as I. rewrite phi2_recurrence in I.
  set (p := phi2 x) in *. set (q := 1 + x * p - p) in *. set (z := x * psi x) in *.
  assert (PZ : p + z = q) by (unfold q; lra).
  assert (Z : Rabs z <= 4 / 10 * q) by (apply Rabs_le; lra).
  assert (Zc : Rabs (z * c) <= 4 / 10 * q * (766 / 100 * u))
    by (rewrite Rabs_mult; apply Rmult_le_compat; auto; apply Rabs_pos).
  assert (Pb : Rabs (p * b) <= 14 / 10 * q * (441 / 100 * u)).
  { rewrite Rabs_mult, (Rabs_right p) by lra. apply Rmult_le_compat; try lra. apply Rabs_pos. }
  assert (q1 : q <= 1).
  { unfold q. assert (x * p <= 1 * p) by (apply Rmult_le_compat_r; lra). lra. }
  assert (qu : u * q <= 1 / 1000000 * q) by (apply Rmult_le_compat_r; lra).
  assert (Zs : Rabs (z * c) <= q / 10000) by lra. assert (Ps : Rabs (p * b) <= q / 10000) by lra.
  assert (Xy : Rabs (x * (psi x * (1 + c))) <= 41 / 100 * q).
  { replace (x * (psi x * (1 + c))) with (z + z * c) by (unfold z; ring).
    eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (V : p * (1 + b) + x * (psi x * (1 + c)) = q + (p * b + z * c)) by (rewrite <- PZ; unfold z; ring).
  apply Rabs_le_between in Zs, Ps.
  destruct (near_sum (psi x * (1 + c)) (p * (1 + b)) (41 / 100 * q) Xy) as (r & Hr & E); [lra | lra |].
  rewrite V in Hr, E.
  exists ((p * b + z * c + r) / q). split.
  - unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ q)) by (left; apply Rinv_0_lt_compat; lra).
    apply (Rmult_le_reg_r q); [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    eapply Rle_trans; [apply Rabs_triang|].
    eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    assert (Su : (p * b + z * c) * u <= 2 * (q / 10000) * u) by (apply Rmult_le_compat_r; lra).
    clear - Hr Zc Pb Su U Q. set (w := p * b + z * c) in *.
    assert (0 <= q * u) by (apply Rmult_le_pos; lra). lra.
  - unfold near_right_coupled. rewrite L, H.
    replace (E0 * psi x * (1 + c)) with (E0 * (psi x * (1 + c))) by ring.
    replace (E0 * p * (1 + b)) with (E0 * (p * (1 + b))) by ring.
    rewrite E. field. lra.
Qed.
End Near.

(** ** The kernel's shares *)

Lemma near_within E0 Y V c eps p : 0 <= Y -> 0 <= V -> 0 <= c -> eps <= / 1024 -> within eps E0 Y ->
  (exists d, Rabs d <= c /\ p = E0 * V * (1 + d)) -> within (1001 / 1000 * c + eps) p (Y * V).
Proof.
  intros HY HV Hc He H (d & D & ->). unfold within in *.
  replace (E0 * V * (1 + d) - Y * V) with (V * ((Y + (E0 - Y)) * (1 + d) - Y)) by ring.
  rewrite Rabs_mult, (Rabs_right V) by lra.
  pose proof (perturbed Y (E0 - Y) d _ _ H D) as P. rewrite (Rabs_right Y) in P by lra.
  apply Rle_trans with (V * (Y * (eps + c * (1 + eps)))).
  - apply Rmult_le_compat_l; lra.
  - replace ((1001 / 1000 * c + eps) * (Y * V)) with (V * (Y * (eps + c * (1001 / 1000)))) by field.
    repeat apply Rmult_le_compat_l; try lra. apply Rplus_le_compat_l, Rmult_le_compat_l; lra.
Qed.

Lemma linear_near_shares D a0 a1 : let x := a1 - a0 in let Y := D * exp a0 in
  mass (linear D a0 a1) = Y * (1 + x * phi2 x) /\ left (linear D a0 a1) = Y * phi2 x /\
  right (linear D a0 a1) = Y * (1 + x * phi2 x - phi2 x) /\ coupling (linear D a0 a1) = Y * psi x.
Proof.
  intros x Y. rewrite linear_mass, phi2_recurrence. unfold linear. cbn [left right coupling]. fold x.
  pose proof (eq7 x) as E. rewrite phi2_recurrence in E.
  replace (1 + x * phi2 x - phi2 x) with (exp x * phi2 (- x)) by lra.
  replace (a0 - a1) with (- x) by (unfold x; ring).
  replace (exp a1) with (exp a0 * exp x) by (rewrite <- exp_plus; f_equal; unfold x; ring).
  unfold Y. repeat split; ring.
Qed.

Lemma near_large D a0 a1 E0 eps : Rabs (a1 - a0) < 1 -> 0 <= eps <= / 1024 ->
  268435456 * smallest_normal <= D * exp (Rmax a0 a1) -> within eps E0 (D * exp a0) ->
  0 < D * exp a0 /\ 67108864 * smallest_normal <= E0.
Proof.
  intros X He H HE. unfold within in HE. pose proof smallest_normal_pos as W.
  assert (M : exp (Rmax a0 a1) <= 28 / 10 * exp a0).
  { apply Rle_trans with (exp 1 * exp a0).
    - rewrite <- exp_plus. apply Rabs_def2 in X.
      assert (L : Rmax a0 a1 <= 1 + a0) by (apply Rmax_lub; lra).
      destruct L as [L | L]; [left; now apply exp_increasing | right; now rewrite L].
    - apply Rmult_le_compat_r; [left; apply exp_pos | interval with (i_prec 60)]. }
  pose proof (exp_pos (Rmax a0 a1)) as P. pose proof (exp_pos a0) as P0.
  assert (D0 : 0 < D).
  { apply (Rmult_lt_reg_r (exp (Rmax a0 a1))); [exact P|]. rewrite Rmult_0_l. lra. }
  assert (Y : D * exp (Rmax a0 a1) <= D * (28 / 10 * exp a0)) by (apply Rmult_le_compat_l; lra).
  assert (Y0 : 0 < D * exp a0) by (apply Rmult_lt_0_compat; assumption).
  split; [exact Y0|].
  assert (E : eps * (D * exp a0) <= / 1024 * (D * exp a0)) by (apply Rmult_le_compat_r; lra).
  apply Rabs_le_between in HE. lra.
Qed.

Lemma linear_nonneg D a0 a1 : 0 <= D ->
  0 <= left (linear D a0 a1) /\ 0 <= right (linear D a0 a1) /\ 0 <= coupling (linear D a0 a1).
Proof.
  intros HD. unfold linear. cbn [left right coupling].
  pose proof (phi2_pos (a1 - a0)). pose proof (phi2_pos (a0 - a1)). pose proof (psi_pos (a1 - a0)).
  pose proof (exp_pos a0). pose proof (exp_pos a1).
  repeat split; apply Rmult_le_pos; try apply Rmult_le_pos; lra.
Qed.

(** What follows for the four cases from one statement about each. *)
Lemma kernel_cases fma D a0 a1 E0 E1 eps :
  let x := a1 - a0 in let s := linear D a0 a1 in
  multiply_add fma -> f32 x = x -> Rabs x <= 1024 -> 0 <= eps <= / 1024 ->
  268435456 * smallest_normal <= D * exp (Rmax a0 a1) ->
  within eps E0 (D * exp a0) -> within eps E1 (D * exp a1) ->
  within (5 * u + 3 * eps) (kernel_mass fma x E0 E1) (mass s) /\
  within (18 * u + 7 * eps) (kernel_left fma x E0 E1) (left s) /\
  within (18 * u + 7 * eps) (kernel_right fma x E0 E1) (right s) /\
  within (18 * u + 7 * eps) (kernel_right_coupled fma x E0 E1) (right s) /\
  within (60 * u + 21 * eps) (kernel_coupling fma x E0 E1) (coupling s).
Proof.
  intros x s F Fx Hx He HB H0 H1. unfold s.
  assert (U : 0 < u) by (rewrite u_value; lra). pose proof smallest_normal_pos as W.
  assert (D0 : 0 < D).
  { pose proof (exp_pos (Rmax a0 a1)) as P.
    apply (Rmult_lt_reg_r (exp (Rmax a0 a1))); [exact P|]. rewrite Rmult_0_l. lra. }
  destruct (linear_nonneg D a0 a1 ltac:(lra)) as (NL & NR & NH).
  assert (NM : 0 <= mass (linear D a0 a1)) by (unfold mass; lra).
  unfold kernel_mass, kernel_left, kernel_right, kernel_right_coupled, kernel_coupling, near_or_far.
  destruct (Rlt_dec (Rabs x) 1) as [N | N].
  - destruct (near_large D a0 a1 E0 eps N He HB H0) as (Y0 & L).
    assert (Hx' : -1 <= x <= 1) by (apply Rabs_def2 in N; lra).
    destruct (linear_near_shares D a0 a1) as (EM & EL & ER & EH). fold x in EM, EL, ER, EH.
    rewrite EM in *. rewrite EL in *. rewrite ER in *. rewrite EH in *. clear EM EL ER EH.
    destruct (near_conditions x Hx') as (R & M & Q & _). pose proof (psi_range x Hx') as P.
    assert (T : forall V c c' p, 0 <= V -> 0 <= c -> 1001 / 1000 * c + eps <= c' ->
      (exists d, Rabs d <= c /\ p = E0 * V * (1 + d)) -> within c' p (D * exp a0 * V)).
    { intros V c c' p HV Hc Hc' H. apply (within_le (1001 / 1000 * c + eps)); [|exact Hc' | nra].
      apply (near_within E0); try lra; auto. }
    split; [|split; [|split; [|split]]].
    + apply (T _ (425 / 100 * u)); [lra .. | now apply near_mass_relative].
    + apply (T _ (441 / 100 * u)); [lra .. | now apply near_left_form].
    + apply (T _ (173 / 10 * u)); [lra .. | now apply near_right_relative].
    + apply (T _ (12 * u)); [lra .. | now apply near_right_coupled_relative].
    + apply (T _ (766 / 100 * u)); [lra .. | now apply near_coupling_form].
  - destruct (Rle_or_lt 0 x) as [S | S].
    + rewrite Rabs_right in * by lra.
      destruct (linear_far_positive D a0 a1 x eq_refl ltac:(lra)) as (ES & EM & EL & ER & EH).
      rewrite Rmax_right in HB by (unfold x in S; lra). rewrite ES in H0.
      destruct (far_relative x _ _ _ eps ltac:(lra) HB He H1 H0) as (PM & PB & PS & PH).
      destruct (far_positive x E0 E1) as (-> & -> & -> & ->).
      rewrite EM, EL, ER, EH in *.
      split; [exact PM|]. split; [apply (within_le _ _ _ _ PS); lra|].
      split; [apply (within_le _ _ _ _ PB); lra|]. split; [apply (within_le _ _ _ _ PB); lra | exact PH].
    + rewrite Rabs_left in * by lra. set (X := - x) in *.
      assert (EX : a0 - a1 = X) by (unfold X, x; ring).
      destruct (linear_far_negative D a0 a1 X EX ltac:(lra)) as (ES & EM & EL & ER & EH).
      rewrite Rmax_left in HB by (unfold x in S; lra). rewrite ES in H1.
      destruct (far_relative X _ _ _ eps ltac:(lra) HB He H0 H1) as (PM & PB & PS & PH).
      replace x with (- X) by (unfold X; ring).
      destruct (far_negative X E0 E1) as (-> & -> & -> & ->).
      rewrite EM, EL, ER, EH in *.
      split; [exact PM|]. split; [apply (within_le _ _ _ _ PB); lra|].
      split; [apply (within_le _ _ _ _ PS); lra|]. split; [apply (within_le _ _ _ _ PS); lra | exact PH].
Qed.

(** [kernel numbers] The kernels' L, R and mass of a segment, fused or not.  Assumed: x = a_1 - a_0 is an
    f32, abs(x) <= 1024; the larger of D e^{a_0}, D e^{a_1} is at least 2^-98; E0, E1 are within
    eps <= 2^-10 of them.  Then mass is within 5 u + 3 eps, L and R are within 18 u + 7 eps of the
    exact ones, relatively. *)
Theorem kernel_shares_error fma D a0 a1 E0 E1 eps :
  let x := a1 - a0 in let s := linear D a0 a1 in
  multiply_add fma -> f32 x = x -> Rabs x <= 1024 -> 0 <= eps <= / 1024 ->
  268435456 * smallest_normal <= D * exp (Rmax a0 a1) ->
  within eps E0 (D * exp a0) -> within eps E1 (D * exp a1) ->
  within (5 * u + 3 * eps) (kernel_mass fma x E0 E1) (mass s) /\
  within (18 * u + 7 * eps) (kernel_left fma x E0 E1) (left s) /\
  within (18 * u + 7 * eps) (kernel_right fma x E0 E1) (right s).
Proof.
  intros x s F Fx Hx He HB H0 H1.
  destruct (kernel_cases fma D a0 a1 E0 E1 eps F Fx Hx He HB H0 H1) as (M & L & R & _). auto.
Qed.

(** [kernel numbers] The kernels' L, R and h where h is wanted, under the same assumptions: L and R are
    within 18 u + 7 eps, h is within 60 u + 21 eps. *)
Theorem kernel_coupling_error fma D a0 a1 E0 E1 eps :
  let x := a1 - a0 in let s := linear D a0 a1 in
  multiply_add fma -> f32 x = x -> Rabs x <= 1024 -> 0 <= eps <= / 1024 ->
  268435456 * smallest_normal <= D * exp (Rmax a0 a1) ->
  within eps E0 (D * exp a0) -> within eps E1 (D * exp a1) ->
  within (18 * u + 7 * eps) (kernel_left fma x E0 E1) (left s) /\
  within (18 * u + 7 * eps) (kernel_right_coupled fma x E0 E1) (right s) /\
  within (60 * u + 21 * eps) (kernel_coupling fma x E0 E1) (coupling s).
Proof.
  intros x s F Fx Hx He HB H0 H1.
  destruct (kernel_cases fma D a0 a1 E0 E1 eps F Fx Hx He HB H0 H1) as (_ & L & _ & R & H). auto.
Qed.

Lemma exp_f32_within fma y : multiply_add fma -> -87 <= y <= 0 ->
  within ((4 + - y / 4) * u) (exp_f32 fma y) (1 * exp y).
Proof.
  intros F Hy. unfold within. rewrite Rmult_1_l.
  pose proof (exp_f32_error fma y F) as H. rewrite exp_lowest_value, exp_highest_value in H.
  specialize (H ltac:(lra)). rewrite (Rabs_left1 y) in H by lra. exact H.
Qed.

Lemma anchored_cases fma x : multiply_add fma -> f32 x = x -> Rabs x <= 87 ->
  let a0 := - Rmax x 0 in let a1 := Rmin x 0 in let s := linear 1 a0 a1 in
  let E0 := exp_f32 fma a0 in let E1 := exp_f32 fma a1 in
  within (24 * u) (kernel_mass fma x E0 E1) (mass s) /\
  within (24 * u) (kernel_left fma x E0 E1) (left s) /\
  within (24 * u) (kernel_right fma x E0 E1) (right s) /\
  within (24 * u) (kernel_right_coupled fma x E0 E1) (right s) /\
  within (120 * u) (kernel_coupling fma x E0 E1) (coupling s).
Proof.
  intros F Fx Hx a0 a1 s E0 E1. unfold s.
  assert (U : 0 < u) by (rewrite u_value; lra).
  assert (Ex : a1 - a0 = x).
  { unfold a0, a1. destruct (Rle_or_lt 0 x);
      [rewrite Rmax_left, Rmin_right by lra | rewrite Rmax_right, Rmin_left by lra]; ring. }
  destruct (linear_nonneg 1 a0 a1 ltac:(lra)) as (NL & NR & NH).
  assert (NM : 0 <= mass (linear 1 a0 a1)) by (unfold mass; lra).
  destruct (Rlt_dec (Rabs x) 1) as [N | N].
  - assert (A0 : -1 <= a0 <= 0 /\ -1 <= a1 <= 0).
    { unfold a0, a1. apply Rabs_def2 in N. unfold Rmax, Rmin.
      destruct (Rle_dec x 0); lra. }
    assert (M : 268435456 * smallest_normal <= 1 * exp (Rmax a0 a1)).
    { assert (Z : Rmax a0 a1 = 0).
      { unfold a0, a1. destruct (Rle_or_lt 0 x);
          [rewrite (Rmax_left x), Rmin_right by lra; apply Rmax_right; lra
          | rewrite (Rmax_right x), Rmin_left by lra; rewrite Ropp_0; apply Rmax_left; lra]. }
      rewrite Z, exp_0, Rmult_1_r. unfold smallest_normal.
      replace 268435456 with (bpow radix2 28) by (simpl; lra).
      rewrite <- bpow_plus. change 1 with (bpow radix2 0). now apply bpow_le. }
    assert (W : forall y, -1 <= y <= 0 -> within (425 / 100 * u) (exp_f32 fma y) (1 * exp y)).
    { intros y Hy. apply (within_le _ _ _ _ (exp_f32_within fma y F ltac:(lra))); [nra|].
      pose proof (exp_pos y). lra. }
    pose proof (near_large 1 a0 a1 E0 (425 / 100 * u)) as NLg. rewrite Ex in NLg.
    destruct (NLg N ltac:(rewrite u_value; lra) M (W a0 (proj1 A0))) as (Y0 & L).
    assert (Hx' : -1 <= x <= 1) by (apply Rabs_def2 in N; lra).
    destruct (linear_near_shares 1 a0 a1) as (EM & EL & ER & EH). rewrite Ex in EM, EL, ER, EH.
    rewrite EM in *. rewrite EL in *. rewrite ER in *. rewrite EH in *. clear EM EL ER EH.
    destruct (near_conditions x Hx') as (R & Mx & Q & _). pose proof (psi_range x Hx') as P.
    unfold kernel_mass, kernel_left, kernel_right, kernel_right_coupled, kernel_coupling, near_or_far.
    destruct (Rlt_dec (Rabs x) 1) as [_ | N']; [|contradiction].
    assert (T : forall V c c' p, 0 <= V -> 0 <= c -> 1001 / 1000 * c + 425 / 100 * u <= c' ->
      (exists d, Rabs d <= c /\ p = E0 * V * (1 + d)) -> within c' p (1 * exp a0 * V)).
    { intros V c c' p HV Hc Hc' H. apply (within_le (1001 / 1000 * c + 425 / 100 * u)); [|exact Hc' | nra].
      apply (near_within E0); try lra; [rewrite u_value; lra | apply W; tauto | exact H]. }
    split; [|split; [|split; [|split]]].
    + apply (T _ (425 / 100 * u)); [lra .. | now apply near_mass_relative].
    + apply (T _ (441 / 100 * u)); [lra .. | now apply near_left_form].
    + apply (T _ (173 / 10 * u)); [lra .. | now apply near_right_relative].
    + apply (T _ (12 * u)); [lra .. | now apply near_right_coupled_relative].
    + apply (T _ (766 / 100 * u)); [lra .. | now apply near_coupling_form].
  - unfold kernel_mass, kernel_left, kernel_right, kernel_right_coupled, kernel_coupling, near_or_far.
    destruct (Rlt_dec (Rabs x) 1) as [N' | _]; [contradiction|].
    destruct (Rle_or_lt 0 x) as [S | S].
    + rewrite Rabs_right in * by lra.
      destruct (linear_far_positive 1 a0 a1 x Ex ltac:(lra)) as (ES & EM & EL & ER & EH).
      assert (A1 : a1 = 0) by (unfold a1; apply Rmin_right; lra).
      assert (A0 : a0 = - x) by (unfold a0; rewrite Rmax_left by lra; reflexivity).
      assert (W : within ((4 + x / 4) * u) E0 (exp (- x))).
      { pose proof (exp_f32_within fma a0 F ltac:(lra)) as H. fold E0 in H.
        rewrite A0, Ropp_involutive, Rmult_1_l in H. exact H. }
      destruct (far_anchored x E0 ltac:(lra) W) as (PM & PB & PS & PH).
      assert (E1v : E1 = 1) by (unfold E1; rewrite A1; now apply exp_f32_0).
      rewrite E1v. destruct (far_positive x E0 1) as (-> & -> & -> & ->).
      rewrite EM, EL, ER, EH, A1, exp_0, !Rmult_1_l. rewrite Rmult_1_r in PB, PH. rewrite Rmult_1_r. auto.
    + rewrite Rabs_left in * by lra. set (X := - x) in *.
      assert (EX : a0 - a1 = X) by (unfold X; lra).
      destruct (linear_far_negative 1 a0 a1 X EX ltac:(lra)) as (ES & EM & EL & ER & EH).
      assert (A0 : a0 = 0) by (unfold a0; rewrite Rmax_right by lra; ring).
      assert (A1 : a1 = - X) by (unfold a1, X; rewrite Rmin_left by lra; ring).
      assert (W : within ((4 + X / 4) * u) E1 (exp (- X))).
      { pose proof (exp_f32_within fma a1 F ltac:(lra)) as H. fold E1 in H.
        rewrite A1, Ropp_involutive, Rmult_1_l in H. exact H. }
      destruct (far_anchored X E1 ltac:(lra) W) as (PM & PB & PS & PH).
      assert (E0v : E0 = 1) by (unfold E0; rewrite A0; now apply exp_f32_0).
      rewrite E0v. replace x with (- X) by (unfold X; ring).
      destruct (far_negative X 1 E1) as (-> & -> & -> & ->).
      rewrite EM, EL, ER, EH, A0, exp_0, !Rmult_1_l. rewrite Rmult_1_r in PB, PH. rewrite Rmult_1_r. auto.
Qed.

(** [kernel numbers] L, R and mass from the kernels' own exponentials, anchored at the larger end:
    within 24 u of the exact ones, relatively, for every f32 x with abs(x) <= 87, fused or not. *)
Theorem kernel_shares_anchored fma x : multiply_add fma -> f32 x = x -> Rabs x <= 87 ->
  let a0 := - Rmax x 0 in let a1 := Rmin x 0 in let s := linear 1 a0 a1 in
  let E0 := exp_f32 fma a0 in let E1 := exp_f32 fma a1 in
  within (24 * u) (kernel_mass fma x E0 E1) (mass s) /\
  within (24 * u) (kernel_left fma x E0 E1) (left s) /\
  within (24 * u) (kernel_right fma x E0 E1) (right s).
Proof. intros F Fx Hx. destruct (anchored_cases fma x F Fx Hx) as (M & L & R & _). auto. Qed.

(** [kernel numbers] The same where h is wanted: L and R within 24 u, h within 120 u. *)
Theorem kernel_coupling_anchored fma x : multiply_add fma -> f32 x = x -> Rabs x <= 87 ->
  let a0 := - Rmax x 0 in let a1 := Rmin x 0 in let s := linear 1 a0 a1 in
  let E0 := exp_f32 fma a0 in let E1 := exp_f32 fma a1 in
  within (24 * u) (kernel_left fma x E0 E1) (left s) /\
  within (24 * u) (kernel_right_coupled fma x E0 E1) (right s) /\
  within (120 * u) (kernel_coupling fma x E0 E1) (coupling s).
Proof. intros F Fx Hx. destruct (anchored_cases fma x F Fx Hx) as (_ & L & _ & R & H). auto. Qed.
