(** * Laws: what leaves the output unchanged

    Shift of the scores, shift and scaling of time, reversal, insertion of an
    interpolated node, nodes outside the window, the sink absent. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment Sums Curve Attention.
Open Scope R_scope.

(** Masses decide the output: if all masses change by one factor, o stays. *)
Lemma quotient_factor (p p' v : nat -> R) k n : k <> 0 -> (forall i, (i < n)%nat -> p' i = k * p i) ->
  sum (fun i => p' i * v i) n / sum p' n = sum (fun i => p i * v i) n / sum p n.
Proof.
  intros N H.
  rewrite (sum_ext (fun i => p' i * v i) (fun i => k * (p i * v i)))
    by (intros i Hi; rewrite H by exact Hi; ring).
  rewrite (sum_ext p' (fun i => k * p i)) by exact H. rewrite !sum_scal.
  destruct (Req_dec (sum p n) 0) as [Hz|Hz].
  - rewrite Hz, Rmult_0_r. unfold Rdiv. rewrite Rinv_0. ring.
  - field. auto.
Qed.

Lemma node_mass_factor (p p' : nat -> shares) k b b' f f' n i :
  (forall j, (j < n)%nat -> left (p' j) = k * left (p j) /\ right (p' j) = k * right (p j)) ->
  b' = k * b -> f' = k * f -> (i <= n)%nat ->
  node_mass p' b' f' n i = k * node_mass p b f n i.
Proof.
  intros H -> -> L. unfold node_mass, from_left, from_right. rewrite Rmult_plus_distr_l. f_equal.
  - destruct i; auto. apply H. lia.
  - destruct (Nat.eqb_spec i n); auto. apply H. lia.
Qed.

(** ** Shift of the scores *)

(** [invariance] Adding c to every score multiplies every mass by e^c. *)
Theorem score_shift_mass tau a n lo hi c i : (i <= n)%nat ->
  P tau (fun j => a j + c) n lo hi i = exp c * P tau a n lo hi i.
Proof.
  intros L. unfold P. apply node_mass_factor; auto.
  - intros j _. unfold visible. rewrite cut_linear_shift. auto.
  - unfold held_before. rewrite exp_plus. ring.
  - unfold held_after. rewrite exp_plus. ring.
Qed.

(** [invariance] Adding c to every score leaves every weight as it is. *)
Theorem score_shift tau a n lo hi c i : (i <= n)%nat ->
  weight tau (fun j => a j + c) n lo hi i = weight tau a n lo hi i.
Proof.
  intros L. unfold weight, Z.
  rewrite (sum_ext (P tau (fun j => a j + c) n lo hi) (fun j => exp c * P tau a n lo hi j))
    by (intros; apply score_shift_mass; lia).
  rewrite sum_scal, score_shift_mass by exact L. unfold Rdiv. rewrite Rinv_mult.
  pose proof (exp_pos c). replace (exp c * P tau a n lo hi i * (/ exp c * / sum (P tau a n lo hi) (S n)))
    with (exp c * / exp c * (P tau a n lo hi i * / sum (P tau a n lo hi) (S n))) by ring.
  rewrite Rinv_r by lra. ring.
Qed.

(** ** Shift of time *)

Lemma clip_shift lo hi t c : clip (lo + c) (hi + c) (t + c) = clip lo hi t + c.
Proof. clips. Qed.
Lemma clip_scale lo hi t c : 0 <= c -> clip (c * lo) (c * hi) (c * t) = c * clip lo hi t.
Proof.
  intros H. unfold clip.
  replace (Rmin (c * hi) (c * t)) with (c * Rmin hi t); [now apply RmaxRmult|].
  destruct (Rle_dec hi t).
  - rewrite !Rmin_left; auto. now apply Rmult_le_compat_l.
  - rewrite !Rmin_right; try lra. apply Rmult_le_compat_l; lra.
Qed.

(** [invariance] Moving nodes and window by the same time leaves every mass as it is. *)
Theorem time_shift_mass tau a n lo hi c i : (i <= n)%nat ->
  P (fun j => tau j + c) a n (lo + c) (hi + c) i = P tau a n lo hi i.
Proof.
  intros L. rewrite <- (Rmult_1_l (P tau a n lo hi i)). unfold P. apply node_mass_factor; auto.
  - intros j _. unfold visible, enter, leave, duration. rewrite !clip_shift.
    replace (tau (S j) + c - (tau j + c)) with (tau (S j) - tau j) by ring.
    replace (clip lo hi (tau j) + c - (tau j + c)) with (clip lo hi (tau j) - tau j) by ring.
    replace (clip lo hi (tau (S j)) + c - (tau j + c)) with (clip lo hi (tau (S j)) - tau j) by ring.
    split; ring.
  - unfold held_before. rewrite clip_shift. ring.
  - unfold held_after. rewrite clip_shift. ring.
Qed.

(** [invariance] Moving nodes and window by the same time leaves o as it is. *)
Theorem time_shift scale d q K V tau n lo hi t c : timeline tau n -> lo <= hi ->
  attention scale d q K V (fun j => tau j + t) n (lo + t) (hi + t) c
  = attention scale d q K V tau n lo hi c.
Proof.
  intros T W. rewrite !attention_nodes; auto; try lra.
  2:{ intros i Hi. pose proof (T i Hi). lra. }
  apply quotient_factor with (k := 1); [lra|]. intros i Hi.
  rewrite time_shift_mass by lia. ring.
Qed.

(** ** Scaling of time *)

(** [invariance] Scaling nodes and window by k > 0 scales every mass by k. *)
Theorem time_scale_mass tau a n lo hi k i : 0 < k -> (i <= n)%nat ->
  P (fun j => k * tau j) a n (k * lo) (k * hi) i = k * P tau a n lo hi i.
Proof.
  intros Hk L. unfold P. apply node_mass_factor; auto.
  - intros j _. unfold visible, enter, leave, duration. rewrite !clip_scale by lra.
    rewrite <- !Rmult_minus_distr_l.
    assert (E : forall x y, k * x / (k * y) = x / y).
    { intros x y. unfold Rdiv. rewrite Rinv_mult.
      replace (k * x * (/ k * / y)) with (k * / k * (x * / y)) by ring.
      rewrite Rinv_r by lra. ring. }
    rewrite !E, cut_linear_scale. auto.
  - unfold held_before. rewrite clip_scale by lra. ring.
  - unfold held_after. rewrite clip_scale by lra. ring.
Qed.

(** [invariance] Scaling nodes and window by k > 0 leaves o as it is. *)
Theorem time_scale scale d q K V tau n lo hi k c : timeline tau n -> lo <= hi -> 0 < k ->
  attention scale d q K V (fun j => k * tau j) n (k * lo) (k * hi) c
  = attention scale d q K V tau n lo hi c.
Proof.
  intros T W Hk. rewrite !attention_nodes; auto.
  2:{ intros i Hi. apply Rmult_le_compat_l; [lra | now apply T]. }
  2:{ apply Rmult_le_compat_l; lra. }
  apply quotient_factor with (k := k); [lra|]. intros i Hi. apply time_scale_mass; auto; lia.
Qed.

(** ** Reversal *)

Lemma clip_opp lo hi t : lo <= hi -> clip (- hi) (- lo) (- t) = - clip lo hi t.
Proof. intros H. clips. Qed.

(** [invariance] Reading the line backwards gives every node the mass it had. *)
Theorem reversal_mass tau a n lo hi i : timeline tau n -> lo <= hi -> (i <= n)%nat ->
  P (fun j => - tau (n - j)%nat) (fun j => a (n - j)%nat) n (- hi) (- lo) i
  = P tau a n lo hi (n - i)%nat.
Proof.
  intros T W L.
  assert (VIS : forall j, (j < n)%nat ->
    let p := visible tau a lo hi (n - S j)%nat in
    visible (fun j => - tau (n - j)%nat) (fun j => a (n - j)%nat) (- hi) (- lo) j
    = Shares (right p) (left p) (coupling p)).
  { intros j Hj p. unfold p, visible, enter, leave. clear p.
    replace (n - j)%nat with (S (n - S j)) by lia. set (m := (n - S j)%nat).
    unfold duration. replace (n - j)%nat with (S m) by (unfold m; lia). fold m.
    rewrite !clip_opp by exact W.
    destruct (Req_dec (tau (S m)) (tau m)) as [E|E].
    - (* no duration, no shares *)
      rewrite E. rewrite !linear_cut_integral. cbn [left right coupling].
      replace (- tau m - - tau m) with 0 by ring. replace (tau m - tau m) with 0 by ring.
      rewrite !Rmult_0_l. reflexivity.
    - rewrite <- cut_linear_reversal.
      replace (- tau m - - tau (S m)) with (tau (S m) - tau m) by ring.
      f_equal; field; lra. }
  unfold P, node_mass. rewrite Rplus_comm. f_equal.
  - unfold from_right, from_left. destruct (Nat.eqb_spec i n) as [->|N].
    + rewrite Nat.sub_diag. unfold held_after, held_before. rewrite Nat.sub_diag, clip_opp by exact W.
      ring.
    + rewrite VIS by lia. cbn [left]. replace (n - i)%nat with (S (n - S i)) by lia. reflexivity.
  - unfold from_right, from_left. destruct i as [|j].
    + rewrite Nat.sub_0_r, Nat.eqb_refl. unfold held_after, held_before.
      rewrite Nat.sub_0_r, clip_opp by exact W. ring.
    + destruct (Nat.eqb_spec (n - S j) n); [lia|]. rewrite VIS by lia. reflexivity.
Qed.

(** [invariance] Reading the line backwards leaves o as it is. *)
Theorem reversal scale d q K V tau n lo hi c : timeline tau n -> lo <= hi ->
  attention scale d q (fun j => K (n - j)%nat) (fun j => V (n - j)%nat)
    (fun j => - tau (n - j)%nat) n (- hi) (- lo) c
  = attention scale d q K V tau n lo hi c.
Proof.
  intros T W. rewrite !attention_nodes; auto; try lra.
  2:{ intros i Hi. replace (n - i)%nat with (S (n - S i)) by lia.
      pose proof (T (n - S i)%nat ltac:(lia)). lra. }
  set (a := score scale d q K).
  rewrite (sum_ext _ (fun i => (fun j => P tau a n lo hi j * V j c) (n - i)%nat)).
  2:{ intros i Hi. rewrite <- reversal_mass by (auto; lia). reflexivity. }
  rewrite (sum_reverse (fun j => P tau a n lo hi j * V j c)). f_equal.
  rewrite (sum_ext _ (fun i => P tau a n lo hi (n - i)%nat)).
  2:{ intros i Hi. rewrite <- reversal_mass by (auto; lia). reflexivity. }
  now rewrite (sum_reverse (P tau a n lo hi)).
Qed.

(** ** Insertion of an interpolated node *)

(** [insert j x f]: x becomes item j+1, what stood there and after moves up. *)
Definition insert {A : Type} (j : nat) (x : A) (f : nat -> A) (i : nat) : A :=
  if Nat.leb i j then f i else if Nat.eqb i (S j) then x else f (pred i).

Lemma insert_low {A} j (x : A) f i : (i <= j)%nat -> insert j x f i = f i.
Proof. intros H. unfold insert. apply Nat.leb_le in H. now rewrite H. Qed.
Lemma insert_at {A} j (x : A) f : insert j x f (S j) = x.
Proof.
  unfold insert. replace (Nat.leb (S j) j) with false by (symmetry; apply Nat.leb_gt; lia).
  now rewrite Nat.eqb_refl.
Qed.
Lemma insert_high {A} j (x : A) f i : (j < i)%nat -> insert j x f (S i) = f i.
Proof.
  intros H. unfold insert.
  replace (Nat.leb (S i) j) with false by (symmetry; apply Nat.leb_gt; lia).
  replace (Nat.eqb (S i) (S j)) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity.
Qed.

(** [invariance] Inserting a node that lies on the curve does not change the curve at any time.
    *)
Theorem insert_curve tau u n j t s : (j < n)%nat -> timeline tau n ->
  tau j <= t < tau (S j) ->
  curve (insert j t tau) (insert j (curve tau u n t) u) (S n) s = curve tau u n s.
Proof.
  intros L T Ht. rewrite (eq3_curve tau u n j t T L Ht).
  set (y := lerp (u j) (u (S j)) ((t - tau j) / (tau (S j) - tau j))).
  assert (HD : 0 < tau (S j) - tau j) by lra.
  assert (LOW : forall m, (m <= j)%nat -> curve (insert j t tau) (insert j y u) m s = curve tau u m s).
  { induction m; intros Hm; simpl; [now apply insert_low|].
    rewrite !insert_low by lia. rewrite IHm by lia. auto. }
  clear T. induction n; [lia|].
  destruct (Nat.eq_dec j n) as [<-|N].
  - change (curve tau u (S j) s) with
      (if Rle_dec (tau (S j)) s then u (S j) else if Rle_dec (tau j) s
       then lerp (u j) (u (S j)) ((s - tau j) / (tau (S j) - tau j)) else curve tau u j s).
    change (curve (insert j t tau) (insert j y u) (S (S j)) s) with
      (if Rle_dec (insert j t tau (S (S j))) s then insert j y u (S (S j)) else
       if Rle_dec (insert j t tau (S j)) s
       then lerp (insert j y u (S j)) (insert j y u (S (S j)))
              ((s - insert j t tau (S j)) / (insert j t tau (S (S j)) - insert j t tau (S j)))
       else if Rle_dec (insert j t tau (S j)) s then insert j y u (S j) else
       if Rle_dec (insert j t tau j) s
       then lerp (insert j y u j) (insert j y u (S j))
              ((s - insert j t tau j) / (insert j t tau (S j) - insert j t tau j))
       else curve (insert j t tau) (insert j y u) j s).
    rewrite !insert_high, !insert_at, !insert_low, LOW by lia.
    destruct (Rle_dec (tau (S j)) s); [auto|].
    destruct (Rle_dec t s).
    + destruct (Rle_dec (tau j) s); [|lra]. unfold y, lerp. field. lra.
    + destruct (Rle_dec (tau j) s); [|auto]. unfold y, lerp. field. lra.
  - change (curve tau u (S n) s) with
      (if Rle_dec (tau (S n)) s then u (S n) else if Rle_dec (tau n) s
       then lerp (u n) (u (S n)) ((s - tau n) / (tau (S n) - tau n)) else curve tau u n s).
    change (curve (insert j t tau) (insert j y u) (S (S n)) s) with
      (if Rle_dec (insert j t tau (S (S n))) s then insert j y u (S (S n)) else
       if Rle_dec (insert j t tau (S n)) s
       then lerp (insert j y u (S n)) (insert j y u (S (S n)))
              ((s - insert j t tau (S n)) / (insert j t tau (S (S n)) - insert j t tau (S n)))
       else curve (insert j t tau) (insert j y u) (S n) s).
    rewrite !insert_high by lia. rewrite IHn by lia. reflexivity.
Qed.

(** [invariance] Inserting a node that lies on the curves of keys and values leaves o as it is,
    for every query and window. *)
Theorem insert_node scale d q K V tau n j t lo hi c : (j < n)%nat -> timeline tau n ->
  tau j <= t < tau (S j) ->
  attention scale d q
    (insert j (fun e => curve tau (fun i => K i e) n t) K)
    (insert j (fun e => curve tau (fun i => V i e) n t) V)
    (insert j t tau) (S n) lo hi c
  = attention scale d q K V tau n lo hi c.
Proof.
  intros L T Ht.
  assert (E : forall (U : nat -> nat -> R) e s,
    curve (insert j t tau) (fun i => insert j (fun e => curve tau (fun i => U i e) n t) U i e) (S n) s
    = curve tau (fun i => U i e) n s).
  { intros U e s. rewrite <- (insert_curve tau (fun i => U i e) n j t s L T Ht).
    apply curve_ext. intros i _. unfold insert.
    destruct (Nat.leb i j); auto. destruct (Nat.eqb i (S j)); auto. }
  assert (E2 : forall s, dot d q (fun e => curve (insert j t tau)
      (fun i => insert j (fun e => curve tau (fun i => K i e) n t) K i e) (S n) s)
    = dot d q (fun e => curve tau (fun i => K i e) n s)).
  { intros s. apply sum_ext. intros e _. now rewrite E. }
  unfold attention. unfold Rdiv; apply f_equal2; [|apply f_equal]; apply RInt_ext_R; intros s.
  - now rewrite E, E2.
  - now rewrite E2.
Qed.

(** ** Nodes that the window does not reach *)

(** [window] Causality: a window that ends at or before node m does not depend on later nodes.
    *)
Theorem later_nodes scale d q K V tau n m lo hi c : timeline tau n -> (m <= n)%nat ->
  lo <= hi -> hi <= tau m ->
  attention scale d q K V tau n lo hi c = attention scale d q K V tau m lo hi c.
Proof.
  intros T L W H.
  assert (E : forall u s, s < tau m -> curve tau u n s = curve tau u m s).
  { intros u s Hs. induction L as [|n L IH]; [auto|]. rewrite <- IH.
    - simpl. pose proof (timeline_le tau (S n) m n T L ltac:(lia)). pose proof (T n ltac:(lia)).
      destruct (Rle_dec (tau (S n)) s); [lra|]. destruct (Rle_dec (tau n) s); [lra|auto].
    - eapply timeline_shorter; eauto. }
  unfold attention. unfold Rdiv; apply f_equal2; [|apply f_equal]; apply RInt_ext_le;
    try exact W; intros s Hs.
  - rewrite E by lra. do 3 f_equal. apply sum_ext. intros e _. rewrite E by lra. auto.
  - do 2 f_equal. apply sum_ext. intros e _. rewrite E by lra. auto.
Qed.

(** [window] The sink absent: a window that begins at or after node 1 does not depend on node
    0; the line may as well begin at node 1. *)
Theorem sink_absent scale d q K V tau n lo hi c : timeline tau (S n) -> lo <= hi ->
  tau 1%nat <= lo ->
  attention scale d q K V tau (S n) lo hi c
  = attention scale d q (fun i => K (S i)) (fun i => V (S i)) (fun i => tau (S i)) n lo hi c.
Proof.
  intros T W H.
  assert (E : forall u s, tau 1%nat <= s ->
    curve tau u (S n) s = curve (fun i => tau (S i)) (fun i => u (S i)) n s).
  { intros u s Hs. induction n as [|n IH].
    - simpl. destruct (Rle_dec (tau 1%nat) s); [auto|lra].
    - change (curve tau u (S (S n)) s) with
       (if Rle_dec (tau (S (S n))) s then u (S (S n)) else if Rle_dec (tau (S n)) s
        then lerp (u (S n)) (u (S (S n))) ((s - tau (S n)) / (tau (S (S n)) - tau (S n)))
        else curve tau u (S n) s).
      rewrite IH by (eapply timeline_shorter; eauto). reflexivity. }
  unfold attention. unfold Rdiv; apply f_equal2; [|apply f_equal]; apply RInt_ext_le;
    try exact W; intros s Hs.
  - rewrite E by lra. do 3 f_equal. apply sum_ext. intros e _. rewrite E by lra. auto.
  - do 2 f_equal. apply sum_ext. intros e _. rewrite E by lra. auto.
Qed.

(** [window] In such a window node 0 has mass 0. *)
Theorem sink_absent_weight tau a n lo hi : timeline tau n -> (0 < n)%nat -> lo <= hi ->
  tau 1%nat <= lo -> P tau a n lo hi 0 = 0.
Proof.
  intros T L W H. pose proof (T 0%nat L).
  unfold P, node_mass, from_left, from_right. destruct (Nat.eqb_spec 0 n); [lia|].
  unfold held_before, visible. rewrite !clip_low by lra.
  rewrite (enter_leave_empty tau lo hi 0) by (rewrite !clip_low; lra).
  rewrite linear_cut_integral. cbn [left]. unfold moment. rewrite RInt_point_R. ring.
Qed.

(** [window] A node that lies a whole segment past the window has mass 0. *)
Theorem past_window_weight tau a n lo hi i : timeline tau n -> lo <= hi -> (S i <= n)%nat ->
  hi <= tau i -> P tau a n lo hi (S i) = 0.
Proof.
  intros T W L H. pose proof (T i ltac:(lia)).
  assert (E : forall j, (i <= j)%nat -> (j < n)%nat ->
    left (visible tau a lo hi j) = 0 /\ right (visible tau a lo hi j) = 0).
  { intros j Hj Hn. pose proof (timeline_le tau n i j T Hj ltac:(lia)). pose proof (T j Hn).
    unfold visible. rewrite (enter_leave_empty tau lo hi j) by (rewrite !clip_high; lra).
    rewrite linear_cut_integral. cbn [left right]. unfold moment. rewrite !RInt_point_R. lra. }
  unfold P, node_mass, from_left, from_right. destruct (E i ltac:(lia) ltac:(lia)) as [_ ->].
  destruct (Nat.eqb_spec (S i) n) as [<-|N].
  - unfold held_after. rewrite clip_high by lra. ring.
  - destruct (E (S i) ltac:(lia) ltac:(lia)) as [-> _]. ring.
Qed.
