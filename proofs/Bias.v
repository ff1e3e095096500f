(** * Bias: attention with an approximate bias

    A softmax over the nodes of a_i + b_i, where b is not the exact bias but,
    say, its Taylor polynomial: how far the output moves, and its gradient.  The
    first-order polynomial is the short convolution with the taps 1/6, -1/3, 1/6
    along the key axis. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment Sums Curve Attention Uniform Gradient Taylor.
Open Scope R_scope.

(** Softmax over nodes 0..n of the exponents c_i, for values y_i. *)
Definition biased_output (c y : nat -> R) (n : nat) : R :=
  sum (fun i => exp (c i) * y i) (S n) / sum (fun i => exp (c i)) (S n).

Lemma exp_sum_pos (c : nat -> R) n : 0 < sum (fun i => exp (c i)) (S n).
Proof.
  apply (sum_pos_one _ _ 0); [intros; left; apply exp_pos | lia | apply exp_pos].
Qed.

(** [Taylor] If no exponent is off by more than eps, the output is off by at most
    (e^{2 eps} - 1) W, where W is the distance of any two values. *)
Theorem bias_perturbation (c c' y : nat -> R) n eps W :
  (forall i, (i <= n)%nat -> Rabs (c' i - c i) <= eps) ->
  (forall i j, (i <= n)%nat -> (j <= n)%nat -> y i - y j <= W) ->
  Rabs (biased_output c' y n - biased_output c y n) <= (exp (2 * eps) - 1) * W.
Proof.
  intros HC HW.
  set (z := sum (fun i => exp (c i)) (S n)). set (z' := sum (fun i => exp (c' i)) (S n)).
  assert (Hz : 0 < z) by apply exp_sum_pos. assert (Hz' : 0 < z') by apply exp_sum_pos.
  set (w := fun i => exp (c i) / z). set (w' := fun i => exp (c' i) / z').
  set (o := biased_output c y n).
  assert (E0 : 0 <= eps) by (eapply Rle_trans; [apply Rabs_pos | apply (HC 0%nat); lia]).
  assert (W0 : 0 <= W) by (pose proof (HW 0%nat 0%nat ltac:(lia) ltac:(lia)); lra).
  assert (S1 : sum w (S n) = 1).
  { unfold w. rewrite (sum_ext _ (fun i => / z * exp (c i))) by (intros; field; lra).
    rewrite sum_scal. fold z. field. lra. }
  assert (S1' : sum w' (S n) = 1).
  { unfold w'. rewrite (sum_ext _ (fun i => / z' * exp (c' i))) by (intros; field; lra).
    rewrite sum_scal. fold z'. field. lra. }
  assert (O : o = sum (fun i => w i * y i) (S n)).
  { unfold o, biased_output. fold z. unfold Rdiv. rewrite Rmult_comm, <- sum_scal.
    apply sum_ext. intros. unfold w. field. lra. }
  assert (O' : biased_output c' y n = sum (fun i => w' i * y i) (S n)).
  { unfold biased_output. fold z'. unfold Rdiv. rewrite Rmult_comm, <- sum_scal.
    apply sum_ext. intros. unfold w'. field. lra. }
  assert (Wp : forall i, 0 < w i) by (intros; apply Rdiv_lt_0_compat; [apply exp_pos | exact Hz]).
  assert (HO : forall i, (i <= n)%nat -> Rabs (y i - o) <= W).
  { intros i Hi. replace (y i - o) with (sum (fun j => w j * (y i - y j)) (S n)).
    2:{ rewrite (sum_ext _ (fun j => y i * w j - w j * y j)) by (intros; ring).
        rewrite sum_minus, sum_scal, S1, O. ring. }
    eapply Rle_trans; [apply sum_abs|].
    apply Rle_trans with (sum (fun j => W * w j) (S n)).
    - apply sum_le. intros j Hj. rewrite Rabs_mult, (Rabs_right (w j)) by (pose proof (Wp j); lra).
      rewrite Rmult_comm. apply Rmult_le_compat_r; [pose proof (Wp j); lra|].
      apply Rabs_le. pose proof (HW i j Hi ltac:(lia)). pose proof (HW j i ltac:(lia) Hi). lra.
    - rewrite sum_scal, S1. lra. }
  assert (UP : forall i, (i <= n)%nat -> exp (c' i) <= exp eps * exp (c i)
                                      /\ exp (c i) <= exp eps * exp (c' i)).
  { intros i Hi. rewrite <- !exp_plus. pose proof (HC i Hi) as H. apply Rabs_le_between in H.
    split; apply exp_le_mono; lra. }
  assert (ZUP : z' <= exp eps * z /\ z <= exp eps * z').
  { unfold z, z'. rewrite <- !sum_scal. split; apply sum_le; intros i Hi; apply UP; lia. }
  set (k := exp (2 * eps)).
  assert (K : k = exp eps * exp eps) by (unfold k; rewrite <- exp_plus; f_equal; ring).
  assert (K1 : 1 <= k) by (rewrite <- exp_0; apply exp_le_mono; lra).
  assert (RAT : forall i, (i <= n)%nat -> w' i <= k * w i /\ w i <= k * w' i).
  { intros i Hi. destruct (UP i Hi) as [U1 U2]. destruct ZUP as [Z1 Z2]. pose proof (exp_pos eps).
    pose proof (exp_pos (c i)). pose proof (exp_pos (c' i)). split.
    - unfold w, w'. apply Rmult_le_reg_r with (z' * z); [nra|].
      replace (exp (c' i) / z' * (z' * z)) with (exp (c' i) * z) by (field; lra).
      replace (k * (exp (c i) / z) * (z' * z)) with (exp eps * exp (c i) * (exp eps * z'))
        by (rewrite K; field; lra).
      apply Rmult_le_compat; lra.
    - unfold w, w'. apply Rmult_le_reg_r with (z' * z); [nra|].
      replace (exp (c i) / z * (z' * z)) with (exp (c i) * z') by (field; lra).
      replace (k * (exp (c' i) / z') * (z' * z)) with (exp eps * exp (c' i) * (exp eps * z))
        by (rewrite K; field; lra).
      apply Rmult_le_compat; lra. }
  assert (DW : forall i, (i <= n)%nat -> Rabs (w' i - w i) <= (k - 1) * w i).
  { intros i Hi. destruct (RAT i Hi) as [R1 R2]. pose proof (Wp i).
    assert (w' i >= w i / k).
    { apply Rle_ge. apply Rmult_le_reg_r with k; [lra|].
      replace (w i / k * k) with (w i) by (field; lra). lra. }
    assert (w i - w i / k <= (k - 1) * w i).
    { replace (w i - w i / k) with ((k - 1) * (w i / k)) by (field; lra).
      apply Rmult_le_compat_l; [lra|]. apply Rmult_le_reg_r with k; [lra|].
      replace (w i / k * k) with (w i) by (field; lra). nra. }
    apply Rabs_le. lra. }
  rewrite O'. fold o.
  replace (sum (fun i => w' i * y i) (S n) - o) with (sum (fun i => (w' i - w i) * (y i - o)) (S n)).
  2:{ rewrite (sum_ext _ (fun i => (w' i * y i - w i * y i) - o * (w' i - w i))) by (intros; ring).
      rewrite !sum_minus, sum_scal, sum_minus, S1, S1', <- O. ring. }
  eapply Rle_trans; [apply sum_abs|].
  apply Rle_trans with (sum (fun i => (k - 1) * W * w i) (S n)).
  - apply sum_le. intros i Hi. rewrite Rabs_mult.
    replace ((k - 1) * W * w i) with ((k - 1) * w i * W) by ring.
    apply Rmult_le_compat; try apply Rabs_pos; [apply DW; lia | apply HO; lia].
  - rewrite sum_scal, S1. lra.
Qed.

(** The Taylor polynomials of the bias on the unit time line, orders 1 and 2. *)
Definition taylor_bias1 (a : nat -> R) (t i : nat) : R :=
  match i with
  | O => - ln 2 + (a 1%nat - a 0%nat) / 3
  | S j => if Nat.eqb (S j) t then - ln 2 + (a j - a (S j)) / 3
           else (a j + a (S (S j)) - 2 * a (S j)) / 6
  end.
Definition taylor_bias2 (a : nat -> R) (t i : nat) : R :=
  match i with
  | O => let u := a 1%nat - a 0%nat in - ln 2 + u / 3 + u ^ 2 / 36
  | S j => if Nat.eqb (S j) t then let u := a j - a (S j) in - ln 2 + u / 3 + u ^ 2 / 36
           else let u := a j - a (S j) in let w := a (S (S j)) - a (S j) in
                (u + w) / 6 + (u ^ 2 - u * w + w ^ 2) / 36
  end.

Lemma small_cube d x : 0 <= d -> Rabs x <= d -> Rabs x ^ 3 <= d ^ 3.
Proof. intros Hd H. apply pow_incr. split; [apply Rabs_pos | exact H]. Qed.
Lemma small_square d x : 0 <= d -> Rabs x <= d -> x ^ 2 <= d ^ 2.
Proof. intros Hd H. rewrite <- pow2_abs. apply pow_incr. split; [apply Rabs_pos | exact H]. Qed.

Lemma taylor_bias_errors a t d i : (0 < t)%nat -> 0 <= d <= 1/2 ->
  (forall j, (j < t)%nat -> Rabs (a (S j) - a j) <= d) -> (i <= t)%nat ->
  Rabs (taylor_bias1 a t i - bias INR a t 0 (INR t) i) <= d ^ 2 / 6
  /\ Rabs (taylor_bias2 a t i - bias INR a t 0 (INR t) i) <= d ^ 3 / 6.
Proof.
  intros Ht Hd HA Hi.
  assert (L : forall j, (j < t)%nat -> Rabs (a j - a (S j)) <= d)
    by (intros; rewrite Rabs_minus_sym; auto).
  assert (IN : forall x, Rabs x <= d -> -(1/2) <= x <= 1/2)
    by (intros x Hx; apply Rabs_le_between; lra).
  assert (END : forall u b, Rabs u <= d -> Rabs (b - (- ln 2 + u / 3 + u ^ 2 / 36)) <= Rabs u ^ 3 / 6 ->
    Rabs (- ln 2 + u / 3 - b) <= d ^ 2 / 6 /\ Rabs (- ln 2 + u / 3 + u ^ 2 / 36 - b) <= d ^ 3 / 6).
  { intros u b Hu B. pose proof (small_cube d u ltac:(lra) Hu). pose proof (small_square d u ltac:(lra) Hu).
    assert (d ^ 3 <= d ^ 2 / 2).
    { replace (d ^ 3) with (d ^ 2 * d) by ring. pose proof (pow2_ge_0 d). nra. }
    pose proof (pow2_ge_0 u). apply Rabs_le_between in B. split; apply Rabs_le_between; lra. }
  destruct i as [|j].
  - apply END; [apply HA; lia|]. apply eq13_first; [exact Ht|]. apply IN, HA. lia.
  - unfold taylor_bias1, taylor_bias2. destruct (Nat.eqb_spec (S j) t) as [<-|N].
    + apply END; [apply L; lia|]. apply eq13_last. apply IN, L. lia.
    + pose proof (eq13 a t j ltac:(lia) (IN _ (L j ltac:(lia))) (IN _ (HA (S j) ltac:(lia)))) as B1.
      pose proof (eq13_second_order a t j ltac:(lia) (IN _ (L j ltac:(lia)))
                    (IN _ (HA (S j) ltac:(lia)))) as B2.
      cbv zeta.
      pose proof (small_square d _ ltac:(lra) (L j ltac:(lia))).
      pose proof (small_square d _ ltac:(lra) (HA (S j) ltac:(lia))).
      pose proof (small_cube d _ ltac:(lra) (L j ltac:(lia))).
      pose proof (small_cube d _ ltac:(lra) (HA (S j) ltac:(lia))).
      rewrite Rabs_minus_sym in B1. rewrite Rabs_minus_sym in B2. split; lra.
Qed.

Lemma attention_is_biased scale d q K V t c : (0 < t)%nat ->
  let a := score scale d q K in
  attention scale d q K V INR t 0 (INR t) c
  = biased_output (fun i => a i + bias INR a t 0 (INR t) i) (fun i => V i c) t.
Proof. intros Ht a. exact (eq11 scale d q K V t c Ht). Qed.

(** [Taylor] First order (the short convolution): where neighbouring scores differ by at most
    delta <= 1/2, the output is off by at most (e^{delta^2/3} - 1) W. *)
Theorem taylor1_output_error scale d q K V t c delta W : (0 < t)%nat -> 0 <= delta <= 1/2 ->
  let a := score scale d q K in
  (forall j, (j < t)%nat -> Rabs (a (S j) - a j) <= delta) ->
  (forall i j, (i <= t)%nat -> (j <= t)%nat -> V i c - V j c <= W) ->
  Rabs (biased_output (fun i => a i + taylor_bias1 a t i) (fun i => V i c) t
        - attention scale d q K V INR t 0 (INR t) c) <= (exp (delta ^ 2 / 3) - 1) * W.
Proof.
  intros Ht Hd a HA HW. rewrite attention_is_biased by exact Ht. fold a.
  replace (delta ^ 2 / 3) with (2 * (delta ^ 2 / 6)) by field.
  apply bias_perturbation; [|exact HW]. intros i Hi.
  replace (a i + taylor_bias1 a t i - (a i + bias INR a t 0 (INR t) i))
    with (taylor_bias1 a t i - bias INR a t 0 (INR t) i) by ring.
  now apply taylor_bias_errors.
Qed.

(** [Taylor] Second order: the output is off by at most (e^{delta^3/3} - 1) W. *)
Theorem taylor2_output_error scale d q K V t c delta W : (0 < t)%nat -> 0 <= delta <= 1/2 ->
  let a := score scale d q K in
  (forall j, (j < t)%nat -> Rabs (a (S j) - a j) <= delta) ->
  (forall i j, (i <= t)%nat -> (j <= t)%nat -> V i c - V j c <= W) ->
  Rabs (biased_output (fun i => a i + taylor_bias2 a t i) (fun i => V i c) t
        - attention scale d q K V INR t 0 (INR t) c) <= (exp (delta ^ 3 / 3) - 1) * W.
Proof.
  intros Ht Hd a HA HW. rewrite attention_is_biased by exact Ht. fold a.
  replace (delta ^ 3 / 3) with (2 * (delta ^ 3 / 6)) by field.
  apply bias_perturbation; [|exact HW]. intros i Hi.
  replace (a i + taylor_bias2 a t i - (a i + bias INR a t 0 (INR t) i))
    with (taylor_bias2 a t i - bias INR a t 0 (INR t) i) by ring.
  now apply taylor_bias_errors.
Qed.

(** [Taylor] The gradient of a softmax with any bias: dL = sum_k P_k G_k d(a_k + b_k). *)
Theorem biased_gradient (c : R -> nat -> R) (dc y : nat -> R) g_lse n x :
  (forall i, (i <= n)%nat -> is_derive (fun t => c t i) x (dc i)) ->
  let z t := sum (fun i => exp (c t i)) (S n) in
  is_derive (fun t => biased_output (c t) y n + g_lse * ln (z t)) x
    (sum (fun k => exp (c x k) * ((y k - biased_output (c x) y n + g_lse) / z x) * dc k) (S n)).
Proof.
  intros HC z.
  assert (D : forall v : nat -> R, is_derive (fun t => sum (fun i => exp (c t i) * v i) (S n)) x
    (sum (fun i => exp (c x i) * dc i * v i) (S n))).
  { intros v. apply (is_derive_sum (fun i t => exp (c t i) * v i)). intros i Hi.
    apply (is_derive_eq _ _ (exp (c x i) * dc i * v i + exp (c x i) * 0)); [|ring].
    apply (is_derive_mult_R (fun t => exp (c t i)) (fun _ => v i)); [|apply is_derive_const_R].
    apply (is_derive_comp_R exp (fun t => c t i)); [apply is_derive_exp | apply HC; lia]. }
  assert (DZ : is_derive z x (sum (fun i => exp (c x i) * dc i) (S n))).
  { apply (is_derive_ext_R (fun t => sum (fun i => exp (c t i) * 1) (S n))).
    - intros t. apply sum_ext. intros; ring.
    - apply (is_derive_eq _ _ _ _ (D (fun _ => 1))). apply sum_ext. intros; ring. }
  assert (ZP : 0 < z x) by apply exp_sum_pos.
  set (o := biased_output (c x) y n).
  apply (is_derive_eq _ _ ((sum (fun i => exp (c x i) * dc i * y i) (S n)
      - o * sum (fun i => exp (c x i) * dc i) (S n)) / z x
      + g_lse * (sum (fun i => exp (c x i) * dc i) (S n) / z x))).
  - apply (is_derive_plus_R (fun t => biased_output (c t) y n) (fun t => g_lse * ln (z t))).
    + apply (is_derive_quotient (fun t => sum (fun i => exp (c t i) * y i) (S n)) z); [lra | apply D | exact DZ].
    + apply is_derive_scal_R. now apply (is_derive_ln_R z).
  - rewrite (sum_ext (fun k => exp (c x k) * ((y k - o + g_lse) / z x) * dc k)
      (fun k => / z x * (exp (c x k) * dc k * y k) + (g_lse - o) / z x * (exp (c x k) * dc k)))
      by (intros; field; lra).
    rewrite sum_plus, !sum_scal. field. lra.
Qed.
