(** * Cct: the Step rule, attention over a stepwise-constant curve

    Token i (the node i+1 at the right end of segment i) holds on
    (tau i, tau (i+1)].  The integral of continuous causal attention over such a
    curve is ordinary softmax attention in which every token is weighted by its
    duration; with unit durations it is softmax attention, equation (12). *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment Sums Curve Attention.
Open Scope R_scope.

(** The stepwise-constant reading: u (i+1) on (tau i, tau (i+1)]. *)
Fixpoint step_curve (tau u : nat -> R) (n : nat) (s : R) : R :=
  match n with
  | O => u O
  | S m => if Rlt_dec (tau m) s then u (S m) else step_curve tau u m s
  end.

Lemma step_curve_on tau u n i s : timeline tau n -> (i < n)%nat -> tau i < s <= tau (S i) ->
  step_curve tau u n s = u (S i).
Proof.
  induction n; intros T L H; [lia|]. simpl. destruct (Nat.eq_dec i n) as [->|N].
  - destruct (Rlt_dec (tau n) s); [auto|lra].
  - pose proof (timeline_le tau (S n) (S i) n T ltac:(lia) ltac:(lia)).
    destruct (Rlt_dec (tau n) s); [lra|].
    apply IHn; [eapply timeline_shorter; eauto | lia | exact H].
Qed.

(** The continuous operator at query time t: the query, too, is read from its
    curve at time t, so it is constant during a step. *)
Definition cct (scale : R) (d : nat) (Q K V : nat -> nat -> R) (tau : nat -> R) (n : nat)
    (t : R) (c : nat) : R :=
  let q e := step_curve tau (fun i => Q i e) n t in
  RInt (fun s => exp (scale * dot d q (fun e => step_curve tau (fun i => K i e) n s))
                 * step_curve tau (fun i => V i c) n s) (tau 0%nat) t
  / RInt (fun s => exp (scale * dot d q (fun e => step_curve tau (fun i => K i e) n s))) (tau 0%nat) t.

(** Attention over n tokens weighted by durations D. *)
Definition duration_attention (scale : R) (d : nat) (q : nat -> R) (D : nat -> R)
    (K V : nat -> nat -> R) (n c : nat) : R :=
  sum (fun i => D i * exp (scale * dot d q (K i)) * V i c) n
  / sum (fun i => D i * exp (scale * dot d q (K i))) n.

(** (12): softmax attention over n tokens. *)
Definition softmax_attention (scale : R) (d : nat) (q : nat -> R) (K V : nat -> nat -> R)
    (n c : nat) : R :=
  sum (fun i => exp (scale * dot d q (K i)) * V i c) n
  / sum (fun i => exp (scale * dot d q (K i))) n.

(** [cct] The output of the Step rule is attention over tokens weighted by their durations. *)
Theorem step_rule_is_duration_attention scale d q tau K V n c :
  let p i := step (duration tau i) (scale * dot d q (K i)) (scale * dot d q (K (S i))) in
  sum (fun i => left (p i) * V i c + right (p i) * V (S i) c) n / sum (fun i => mass (p i)) n
  = duration_attention scale d q (duration tau) (fun i => K (S i)) (fun i => V (S i)) n c.
Proof.
  intros p. unfold duration_attention, p, mass, step. cbn [left right].
  unfold Rdiv; apply f_equal2; [|apply f_equal]; apply sum_ext; intros; ring.
Qed.

Lemma step_integral tau n t m (f : R -> R) (y : nat -> R) : timeline tau n -> (m < n)%nat ->
  tau m < t <= tau (S m) ->
  (forall i s, (i <= m)%nat -> tau i < s < tau (S i) -> f s = y i) ->
  is_RInt f (tau 0%nat) t (sum (fun i => duration tau i * y i) m + (t - tau m) * y m).
Proof.
  intros T L H E. pose proof (timeline_le tau n 0 m T ltac:(lia) ltac:(lia)) as H0.
  set (g := fun s => if Rle_dec s (tau 0%nat) then 0 else if Rle_dec (tau (S m)) s then 0 else f s).
  apply (is_RInt_ext_le g); [lra | |].
  { intros s Hs. unfold g. destruct (Rle_dec s (tau 0%nat)); [lra|].
    destruct (Rle_dec (tau (S m)) s); [lra|auto]. }
  eapply is_RInt_eq.
  - apply (piecewise_integral tau (S m) (tau 0%nat) t g (fun i _ => y i) 0 0).
    + eapply timeline_shorter; eauto.
    + lra.
    + intros i _. apply cts_const.
    + intros i s Hi Hs. unfold g.
      pose proof (timeline_le tau n 0 i T ltac:(lia) ltac:(lia)).
      pose proof (timeline_le tau n (S i) (S m) T ltac:(lia) ltac:(lia)).
      destruct (Rle_dec s (tau 0%nat)); [lra|]. destruct (Rle_dec (tau (S m)) s); [lra|].
      apply E; [lia | exact Hs].
    + intros s Hs. unfold g. destruct (Rle_dec s (tau 0%nat)); lra.
    + intros s Hs. unfold g. destruct (Rle_dec s (tau 0%nat)); [lra|].
      destruct (Rle_dec (tau (S m)) s); lra.
  - rewrite !Rmult_0_r, Rplus_0_l, Rplus_0_r, sum_S.
    assert (C : forall i, (i <= m)%nat -> duration tau i * RInt (fun _ => y i)
        (enter tau (tau 0%nat) t i) (leave tau (tau 0%nat) t i)
      = (clip (tau 0%nat) t (tau (S i)) - clip (tau 0%nat) t (tau i)) * y i).
    { intros i Hi. rewrite (is_RInt_value _ _ _ _ (is_RInt_const_R _ _ (y i))).
      rewrite <- visible_duration by (apply T; lia). ring. }
    f_equal.
    + apply sum_ext. intros i Hi. rewrite C by lia.
      pose proof (timeline_le tau n 0 i T ltac:(lia) ltac:(lia)).
      pose proof (timeline_le tau n 0 (S i) T ltac:(lia) ltac:(lia)).
      pose proof (timeline_le tau n i m T ltac:(lia) ltac:(lia)).
      pose proof (timeline_le tau n (S i) m T ltac:(lia) ltac:(lia)).
      rewrite !clip_id by lra. reflexivity.
    + rewrite C by lia. rewrite (clip_id _ _ (tau m)) by lra. rewrite clip_high by lra. reflexivity.
Qed.

(** [cct] Over any window inside the line, the integral of e^a v of the stepwise-constant reading is the
    sum of the cut Step shares times the values. *)
Theorem step_window tau a v n lo hi : timeline tau n -> tau 0%nat <= lo -> lo <= hi -> hi <= tau n ->
  is_RInt (fun s => exp (step_curve tau a n s) * step_curve tau v n s) lo hi
    (sum (fun i => right (cut_step (enter tau lo hi i) (leave tau lo hi i) (duration tau i) (a i) (a (S i)))
                   * v (S i)) n).
Proof.
  intros T L0 W L1.
  set (f := fun s => if Rle_dec (tau n) s then 0 else if Rlt_dec s (tau 0%nat) then 0
                     else exp (step_curve tau a n s) * step_curve tau v n s).
  apply (is_RInt_ext_le f); [exact W | |].
  { intros s Hs. unfold f. destruct (Rle_dec (tau n) s); [lra|].
    destruct (Rlt_dec s (tau 0%nat)); [lra|auto]. }
  eapply is_RInt_eq.
  - apply (piecewise_integral tau n lo hi f (fun i _ => exp (a (S i)) * v (S i)) 0 0 T W).
    + intros i _. apply cts_const.
    + intros i s Hi Hs. unfold f.
      pose proof (timeline_le tau n 0 i T ltac:(lia) ltac:(lia)).
      pose proof (timeline_le tau n (S i) n T ltac:(lia) ltac:(lia)).
      destruct (Rle_dec (tau n) s); [lra|]. destruct (Rlt_dec s (tau 0%nat)); [lra|].
      rewrite !(step_curve_on tau _ n i s T Hi) by lra. reflexivity.
    + intros s Hs. unfold f. destruct (Rle_dec (tau n) s); [auto|]. destruct (Rlt_dec s (tau 0%nat)); lra.
    + intros s Hs. unfold f. destruct (Rle_dec (tau n) s); lra.
  - rewrite !Rmult_0_r, Rplus_0_l, Rplus_0_r. apply sum_ext. intros i Hi.
    rewrite (is_RInt_value _ _ _ _ (is_RInt_const_R _ _ (exp (a (S i)) * v (S i)))).
    unfold cut_step. cbn [right]. ring.
Qed.

(** [cct] Continuous causal attention over a stepwise-constant curve, at any query time t
    inside step m, is attention weighted by durations, step m with its elapsed part. *)
Theorem cct_reduction scale d Q K V tau n t m c : timeline tau n -> (m < n)%nat ->
  tau m < t <= tau (S m) ->
  let D i := if Nat.ltb i m then duration tau i else t - tau m in
  cct scale d Q K V tau n t c
  = duration_attention scale d (Q (S m)) D (fun i => K (S i)) (fun i => V (S i)) (S m) c.
Proof.
  intros T L H D. unfold cct.
  set (q := fun e => step_curve tau (fun i => Q i e) n t).
  assert (EQ : forall k, dot d q k = dot d (Q (S m)) k).
  { intros k. apply sum_ext. intros e _. unfold q.
    now rewrite (step_curve_on tau (fun i => Q i e) n m t T L H). }
  assert (EK : forall i s, (i <= m)%nat -> tau i < s < tau (S i) ->
    exp (scale * dot d q (fun e => step_curve tau (fun i => K i e) n s))
    = exp (scale * dot d (Q (S m)) (K (S i)))).
  { intros i s Hi Hs. rewrite EQ. do 2 f_equal. apply sum_ext. intros e _. f_equal.
    apply (step_curve_on tau (fun i => K i e)); [exact T | lia | lra]. }
  unfold duration_attention. rewrite !sum_S.
  assert (ED : forall i, (i < m)%nat -> D i = duration tau i).
  { intros i Hi. unfold D. apply Nat.ltb_lt in Hi. now rewrite Hi. }
  assert (EM : D m = t - tau m) by (unfold D; now rewrite Nat.ltb_irrefl).
  unfold Rdiv. apply f_equal2; [|apply f_equal]; rewrite EM.
  - rewrite (sum_ext _ (fun i => duration tau i
       * (exp (scale * dot d (Q (S m)) (K (S i))) * V (S i) c))).
    2:{ intros i Hi. rewrite (ED i Hi). ring. }
    rewrite Rmult_assoc. apply is_RInt_value.
    apply (step_integral tau n t m _ (fun i => exp (scale * dot d (Q (S m)) (K (S i))) * V (S i) c));
      auto.
    intros i s Hi Hs. rewrite (EK i s Hi Hs). f_equal.
    apply (step_curve_on tau (fun i => V i c)); [exact T | lia | lra].
  - rewrite (sum_ext _ (fun i => duration tau i * exp (scale * dot d (Q (S m)) (K (S i))))).
    2:{ intros i Hi. now rewrite (ED i Hi). }
    apply is_RInt_value.
    apply (step_integral tau n t m _ (fun i => exp (scale * dot d (Q (S m)) (K (S i))))); auto.
Qed.

(** [cct] At the end of a step every token counts with its whole duration. *)
Theorem cct_at_step_end scale d Q K V tau n m c : timeline tau n -> (m < n)%nat ->
  tau m < tau (S m) ->
  cct scale d Q K V tau n (tau (S m)) c
  = duration_attention scale d (Q (S m)) (duration tau) (fun i => K (S i)) (fun i => V (S i)) (S m) c.
Proof.
  intros T L H. rewrite (cct_reduction scale d Q K V tau n (tau (S m)) m c T L) by lra.
  unfold duration_attention.
  unfold Rdiv; apply f_equal2; [|apply f_equal]; apply sum_ext; intros i Hi; do 2 f_equal;
    try (destruct (Nat.ltb_spec i m); [auto|]; replace i with m by lia; reflexivity).
Qed.

(** [(12)] Attention weighted by unit durations is softmax attention. *)
Theorem eq12_unit_durations scale d q K V n c :
  duration_attention scale d q (fun _ => 1) K V n c = softmax_attention scale d q K V n c.
Proof.
  unfold duration_attention, softmax_attention.
  unfold Rdiv; apply f_equal2; [|apply f_equal]; apply sum_ext; intros; ring.
Qed.

(** [(12)] Continuous causal attention over steps of duration 1 is softmax attention over the
    tokens up to the query. *)
Theorem eq12_cct scale d Q K V n m c : (m < n)%nat ->
  cct scale d Q K V INR n (INR (S m)) c
  = softmax_attention scale d (Q (S m)) (fun i => K (S i)) (fun i => V (S i)) (S m) c.
Proof.
  intros L. assert (T : timeline INR n) by (intros i _; rewrite S_INR; lra).
  rewrite cct_at_step_end by (auto; rewrite S_INR; lra).
  rewrite <- eq12_unit_durations. unfold duration_attention.
  assert (E : forall i, duration INR i = 1) by (intros i; unfold duration; rewrite S_INR; ring).
  unfold Rdiv; apply f_equal2; [|apply f_equal]; apply sum_ext; intros i _; now rewrite E.
Qed.

(** Euler's method for N' = e^{a(s)} v(s), Z' = e^{a(s)} along any curves k(s), v(s), with
    steps D_i and samples at the times sigma_i. *)
Fixpoint euler (f : R -> R) (D sigma : nat -> R) (n : nat) : R :=
  match n with O => 0 | S m => euler f D sigma m + D m * f (sigma m) end.

(** [cct] Euler's method for the two integrals, along any curves of keys and values, gives
    attention over the sampled tokens weighted by the steps. *)
Theorem euler_is_duration_attention scale d q (k v : R -> nat -> R) D sigma n c :
  euler (fun s => exp (scale * dot d q (k s)) * v s c) D sigma n
  / euler (fun s => exp (scale * dot d q (k s))) D sigma n
  = duration_attention scale d q D (fun i => k (sigma i)) (fun i => v (sigma i)) n c.
Proof.
  assert (E : forall f, euler f D sigma n = sum (fun i => D i * f (sigma i)) n).
  { intros f. induction n; simpl; [auto|]. now rewrite IHn. }
  rewrite !E. unfold duration_attention.
  unfold Rdiv; apply f_equal2; [|apply f_equal]; apply sum_ext; intros; ring.
Qed.

(** [cct] Splitting a token in two with the same key, value and total duration leaves the
    output unchanged. *)
Theorem split_token scale d q D K V n j x y c : (j < n)%nat -> x + y = D j ->
  duration_attention scale d q (split_at j D x y) (split_at j K (K j) (K j))
    (split_at j V (V j) (V j)) (S n) c
  = duration_attention scale d q D K V n c.
Proof.
  intros L E. unfold duration_attention.
  unfold Rdiv; apply f_equal2; [|apply f_equal].
  - rewrite <- (sum_split (fun i => D i * exp (scale * dot d q (K i)) * V i c) n j
      (x * exp (scale * dot d q (K j)) * V j c) (y * exp (scale * dot d q (K j)) * V j c) L).
    + apply sum_ext. intros i _. unfold split_at.
      destruct (Nat.ltb i j); auto. destruct (Nat.eqb i j); auto. destruct (Nat.eqb i (S j)); auto.
    + rewrite <- E. ring.
  - rewrite <- (sum_split (fun i => D i * exp (scale * dot d q (K i))) n j
      (x * exp (scale * dot d q (K j))) (y * exp (scale * dot d q (K j))) L).
    + apply sum_ext. intros i _. unfold split_at.
      destruct (Nat.ltb i j); auto. destruct (Nat.eqb i j); auto. destruct (Nat.eqb i (S j)); auto.
    + rewrite <- E. ring.
Qed.
