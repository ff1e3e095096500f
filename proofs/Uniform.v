(** * Uniform: the numbered equations on the unit time line

    Node i stands at time i, the window is [0, t] for a whole number t > 0.
    Each theorem here is a special case of Attention.v, written as in the
    derivation, equations (2) to (11). *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment Sums Curve Attention.
Open Scope R_scope.

Lemma unit_increasing n : increasing INR n.
Proof. intros i _. rewrite S_INR. lra. Qed.
Lemma unit_timeline n : timeline INR n.
Proof. apply increasing_timeline, unit_increasing. Qed.
Lemma unit_duration i : duration INR i = 1.
Proof. unfold duration. rewrite S_INR. ring. Qed.

(** [(3)] Unit time line: for i <= s < i+1 the curve is (i+1-s) u_i + (s-i) u_{i+1}. *)
Theorem eq3_uniform u n i s : (i < n)%nat -> INR i <= s < INR i + 1 ->
  curve INR u n s = (INR i + 1 - s) * u i + (s - INR i) * u (S i).
Proof.
  intros L H. rewrite (eq3_curve INR u n i s (unit_timeline n) L) by (rewrite S_INR; lra).
  rewrite S_INR. unfold lerp. field. lra.
Qed.

(** [(4)] Unit time line: int_i^{i+1} e^a v = e^{a_i} phi1(x) v_{i+1} + e^{a_i} phi2(x) (v_i -
    v_{i+1}), x = a_{i+1} - a_i. *)
Theorem eq4 a v n i : (i < n)%nat ->
  is_RInt (fun s => exp (curve INR a n s) * curve INR v n s) (INR i) (INR i + 1)
    (exp (a i) * phi1 (a (S i) - a i) * v (S i)
     + exp (a i) * phi2 (a (S i) - a i) * (v i - v (S i))).
Proof.
  intros L.
  apply (is_RInt_ext_le (fun s => (fun r => exp (lerp (a i) (a (S i)) r) * lerp (v i) (v (S i)) r)
                                    (1 * s + - INR i))); [lra | |].
  { intros s Hs. rewrite !(eq3_uniform _ n i s L) by lra. unfold lerp. f_equal; [f_equal|]; ring. }
  pose proof (cts_moment (a i) (a (S i)) _ (cts_lerp (v i) (v (S i)))) as C.
  eapply is_RInt_eq.
  - apply is_RInt_cts. exact (cts_comp _ (fun s => 1 * s + - INR i) C ltac:(cts)).
  - pose proof (RInt_affine _ 1 (- INR i) (INR i) (INR i + 1) C) as A.
    rewrite Rmult_1_l in A. rewrite A.
    replace (1 * INR i + - INR i) with 0 by ring. replace (1 * (INR i + 1) + - INR i) with 1 by ring.
    apply is_RInt_value, eq4_segment.
Qed.

(** [(5)] Unit time line: int_i^{i+1} e^a = e^{a_i} phi1(x). *)
Theorem eq5 a n i : (i < n)%nat ->
  is_RInt (fun s => exp (curve INR a n s)) (INR i) (INR i + 1) (exp (a i) * phi1 (a (S i) - a i)).
Proof.
  intros L. apply (is_RInt_ext_R (fun s => exp (curve INR a n s) * curve INR (fun _ => 1) n s)).
  { intros s _. rewrite curve_const. ring. }
  apply (is_RInt_eq _ _ _ _ _ (eq4 a (fun _ => 1) n i L)). ring.
Qed.

Lemma unit_numerator a v t : (0 < t)%nat ->
  is_RInt (fun s => exp (curve INR a t s) * curve INR v t s) 0 (INR t)
    (sum (fun i => exp (a i) * phi1 (a (S i) - a i) * v (S i)
                   + exp (a i) * phi2 (a (S i) - a i) * (v i - v (S i))) t).
Proof.
  intros L.
  assert (G : forall m, (m <= t)%nat ->
    is_RInt (fun s => exp (curve INR a t s) * curve INR v t s) 0 (INR m)
      (sum (fun i => exp (a i) * phi1 (a (S i) - a i) * v (S i)
                     + exp (a i) * phi2 (a (S i) - a i) * (v i - v (S i))) m)).
  { induction m; intros H; [apply is_RInt_point_R|].
    rewrite sum_S, S_INR. apply (is_RInt_Chasles_R _ _ (INR m)); [apply IHm; lia | apply eq4; lia]. }
  now apply G.
Qed.

(** [(8)] Unit time line, window [0, t]: o as the quotient of two sums over segments. *)
Theorem eq8 scale d q K V t c : (0 < t)%nat ->
  let a := score scale d q K in
  attention scale d q K V INR t 0 (INR t) c =
  sum (fun i => exp (a i) * phi1 (a (S i) - a i) * V (S i) c
                + exp (a i) * phi2 (a (S i) - a i) * (V i c - V (S i) c)) t
  / sum (fun i => exp (a i) * phi1 (a (S i) - a i)) t.
Proof.
  intros L a. rewrite attention_scores. fold a.
  rewrite (is_RInt_value _ _ _ _ (unit_numerator a (fun i => V i c) t L)). f_equal.
  transitivity (RInt (fun s => exp (curve INR a t s) * curve INR (fun _ => 1) t s) 0 (INR t)).
  { apply RInt_ext_R. intros s. rewrite curve_const. ring. }
  rewrite (is_RInt_value _ _ _ _ (unit_numerator a (fun _ => 1) t L)).
  apply sum_ext. intros. ring.
Qed.

(** [(9)] Unit time line: the numerator rearranged over the first node, the last node and the
    inner nodes. *)
Theorem eq9 a v m :
  sum (fun i => exp (a i) * phi1 (a (S i) - a i) * v (S i)
                + exp (a i) * phi2 (a (S i) - a i) * (v i - v (S i))) (S m)
  = exp (a 0%nat) * phi2 (a 1%nat - a 0%nat) * v 0%nat
    + exp (a (S m)) * phi2 (a m - a (S m)) * v (S m)
    + sum (fun i => exp (a (S i)) * (phi2 (a i - a (S i)) + phi2 (a (S (S i)) - a (S i))) * v (S i)) m.
Proof.
  assert (E : forall i, exp (a i) * phi1 (a (S i) - a i) * v (S i)
                + exp (a i) * phi2 (a (S i) - a i) * (v i - v (S i))
              = exp (a (S i)) * phi2 (a i - a (S i)) * v (S i)
                + exp (a i) * phi2 (a (S i) - a i) * v i).
  { intros i. replace (a i - a (S i)) with (- (a (S i) - a i)) by ring.
    replace (exp (a (S i))) with (exp (a i) * exp (a (S i) - a i))
      by (rewrite <- exp_plus; f_equal; ring).
    transitivity (exp (a i) * (phi1 (a (S i) - a i) - phi2 (a (S i) - a i)) * v (S i)
                  + exp (a i) * phi2 (a (S i) - a i) * v i); [ring|].
    rewrite eq7. ring. }
  rewrite (sum_ext _ _ _ (fun i _ => E i)), sum_plus.
  rewrite (sum_first (fun i => exp (a i) * phi2 (a (S i) - a i) * v i)), sum_S.
  rewrite (sum_ext (fun i => exp (a (S i)) * (phi2 (a i - a (S i)) + phi2 (a (S (S i)) - a (S i))) * v (S i))
    (fun i => exp (a (S i)) * phi2 (a i - a (S i)) * v (S i)
              + exp (a (S i)) * phi2 (a (S (S i)) - a (S i)) * v (S i))) by (intros; ring).
  rewrite sum_plus. ring.
Qed.

(** (10): e^{b_i} at the first node, inside, and at the last node. *)
Lemma unit_exp_bias a t i : (0 < t)%nat -> (i <= t)%nat ->
  exp (bias INR a t 0 (INR t) i) * exp (a i) = P INR a t 0 (INR t) i.
Proof.
  intros L H. rewrite Rmult_comm, <- exp_plus, exp_bias; auto.
  change 0 with (INR 0). apply P_pos_full; auto using unit_increasing.
Qed.
Lemma cancel_exp x y u : x * exp u = exp u * y -> x = y.
Proof. intros H. apply (Rmult_eq_reg_l (exp u)); [rewrite <- H; ring | apply Rgt_not_eq, exp_pos]. Qed.

(** [(10)] Unit time line: e^{b_0} = phi2(a_1 - a_0). *)
Theorem eq10_at_first a t : (0 < t)%nat ->
  exp (bias INR a t 0 (INR t) 0) = phi2 (a 1%nat - a 0%nat).
Proof.
  intros L. apply (cancel_exp _ _ (a 0%nat)). rewrite unit_exp_bias by lia.
  pose proof (eq10_first INR a t (increasing_timeline _ _ (unit_increasing t)) L) as E. rewrite unit_duration in E.
  change (INR 0) with 0 in E. rewrite E. ring.
Qed.

(** [(10)] Unit time line: e^{b_i} = phi2(a_{i-1} - a_i) + phi2(a_{i+1} - a_i) inside. *)
Theorem eq10_inside a t i : (S i < t)%nat ->
  exp (bias INR a t 0 (INR t) (S i)) = phi2 (a i - a (S i)) + phi2 (a (S (S i)) - a (S i)).
Proof.
  intros L. apply (cancel_exp _ _ (a (S i))). rewrite unit_exp_bias by lia.
  pose proof (eq10_inner INR a t i (increasing_timeline _ _ (unit_increasing t)) L) as E. rewrite !unit_duration in E.
  change (INR 0) with 0 in E. rewrite E. ring.
Qed.

(** [(10)] Unit time line: e^{b_t} = phi2(a_{t-1} - a_t). *)
Theorem eq10_at_last a m :
  exp (bias INR a (S m) 0 (INR (S m)) (S m)) = phi2 (a m - a (S m)).
Proof.
  apply (cancel_exp _ _ (a (S m))). rewrite unit_exp_bias by lia.
  pose proof (eq10_last INR a m (increasing_timeline _ _ (unit_increasing (S m)))) as E. rewrite !unit_duration in E.
  change (INR 0) with 0 in E. rewrite E. ring.
Qed.

(** [(10)] Equal scores: b = 0 inside and b = -log 2 at the two ends. *)
Theorem bias_equal_scores x t i : (S i < t)%nat ->
  bias INR (fun _ => x) t 0 (INR t) (S i) = 0
  /\ bias INR (fun _ => x) t 0 (INR t) 0 = - ln 2
  /\ bias INR (fun _ => x) t 0 (INR t) t = - ln 2.
Proof.
  intros L. repeat split; apply exp_inv.
  - rewrite eq10_inside, exp_0, Rminus_eq_0, phi2_0 by exact L. field.
  - rewrite eq10_at_first, Rminus_eq_0, phi2_0, exp_Ropp, exp_ln by (lra || lia). field.
  - destruct t as [|m]; [lia|].
    rewrite eq10_at_last, Rminus_eq_0, phi2_0, exp_Ropp, exp_ln by lra. field.
Qed.

(** [(11)] Unit time line, window [0, t]: o is a softmax over nodes 0..t of the scores a_i with
    the bias b_i. *)
Theorem eq11 scale d q K V t c : (0 < t)%nat ->
  let a := score scale d q K in
  let b := bias INR a t 0 (INR t) in
  attention scale d q K V INR t 0 (INR t) c =
  sum (fun i => exp (a i + b i) * V i c) (S t) / sum (fun i => exp (a i + b i)) (S t).
Proof.
  intros L a b. apply eq11_window.
  - apply unit_timeline.
  - apply pos_INR.
  - intros i Hi. change 0 with (INR 0). apply P_pos_full; auto using unit_increasing.
Qed.
