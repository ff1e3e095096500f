(** * Curve: time lines, their piecewise-linear reading, and windows

    Nodes 0..n stand at times tau 0 <= ... <= tau n; equal times are allowed.
    Keys and values are read as piecewise-linear functions of time, held
    constant before the first and after the last node: equation (3).  A window
    [lo, hi] may cut segments; integrals over it add up over their visible parts. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Segment Sums.
Open Scope R_scope.

(** ** Time lines and curves: equation (3) *)

(** Times do not decrease: durations are >= 0, and may be 0. *)
Definition timeline (tau : nat -> R) (n : nat) : Prop :=
  forall i, (i < n)%nat -> tau i <= tau (S i).
Definition duration (tau : nat -> R) (i : nat) : R := tau (S i) - tau i.

(** The reading of the node values u 0, ..., u n at time s. *)
Fixpoint curve (tau u : nat -> R) (n : nat) (s : R) : R :=
  match n with
  | O => u O
  | S m => if Rle_dec (tau (S m)) s then u (S m)
           else if Rle_dec (tau m) s
           then lerp (u m) (u (S m)) ((s - tau m) / (tau (S m) - tau m))
           else curve tau u m s
  end.

Lemma timeline_le tau n i j : timeline tau n -> (i <= j)%nat -> (j <= n)%nat -> tau i <= tau j.
Proof.
  intros T L. induction L as [|j L IH]; intros H; [lra|].
  apply Rle_trans with (tau j); [apply IH; lia | apply T; lia].
Qed.
Lemma timeline_shorter tau n m : timeline tau n -> (m <= n)%nat -> timeline tau m.
Proof. intros T L i Hi. apply T. lia. Qed.

(** [(3)] On segment i the curve is the linear interpolation of its two nodes, at any spacing.
    *)
Theorem eq3_curve tau u n i s : timeline tau n -> (i < n)%nat -> tau i <= s < tau (S i) ->
  curve tau u n s = lerp (u i) (u (S i)) ((s - tau i) / (tau (S i) - tau i)).
Proof.
  induction n; intros T L H; [lia|]. simpl.
  destruct (Nat.eq_dec i n) as [->|N].
  - destruct (Rle_dec (tau (S n)) s); [lra|]. destruct (Rle_dec (tau n) s); [auto|lra].
  - pose proof (timeline_le tau (S n) (S i) n T ltac:(lia) ltac:(lia)).
    pose proof (T n ltac:(lia)).
    destruct (Rle_dec (tau (S n)) s); [lra|]. destruct (Rle_dec (tau n) s); [lra|].
    apply IHn; [eapply timeline_shorter; eauto | lia | exact H].
Qed.

(** [(3)] The curve is held constant after the last node. *)
Theorem curve_after tau u n s : tau n <= s -> curve tau u n s = u n.
Proof. destruct n; intros H; simpl; [auto|]. destruct (Rle_dec (tau (S n)) s); [auto|lra]. Qed.

(** [(3)] The curve is held constant before the first node. *)
Theorem curve_before tau u n s : timeline tau n -> s < tau 0%nat -> curve tau u n s = u 0%nat.
Proof.
  induction n; intros T H; simpl; [auto|].
  pose proof (timeline_le tau (S n) 0 n T ltac:(lia) ltac:(lia)).
  pose proof (timeline_le tau (S n) 0 (S n) T ltac:(lia) ltac:(lia)).
  destruct (Rle_dec (tau (S n)) s); [lra|]. destruct (Rle_dec (tau n) s); [lra|].
  apply IHn; [eapply timeline_shorter; eauto | exact H].
Qed.

(** [(3)] At a node's time the curve has the node's value (of several nodes at one time, the
    last one's). *)
Theorem curve_node tau u n i : timeline tau n -> (i <= n)%nat ->
  (i = n \/ tau i < tau (S i)) -> curve tau u n (tau i) = u i.
Proof.
  intros T L [->|H].
  - apply curve_after. lra.
  - destruct (Nat.eq_dec i n) as [->|N]; [apply curve_after; lra|].
    rewrite (eq3_curve tau u n i) by (auto; try lra; lia).
    replace ((tau i - tau i) / (tau (S i) - tau i)) with 0 by (unfold Rdiv; ring). apply lerp_0.
Qed.

Lemma curve_ext tau u w n s : (forall i, (i <= n)%nat -> u i = w i) ->
  curve tau u n s = curve tau w n s.
Proof.
  induction n; intros H; simpl; [apply H; lia|].
  rewrite !H, IHn by (intros; try apply H; lia). auto.
Qed.
Lemma curve_lin tau u w c d n s :
  curve tau (fun i => c * u i + d * w i) n s = c * curve tau u n s + d * curve tau w n s.
Proof.
  induction n; simpl; [auto|].
  destruct (Rle_dec (tau (S n)) s); [auto|]. destruct (Rle_dec (tau n) s); [|exact IHn].
  unfold lerp. ring.
Qed.
Lemma curve_const tau c n s : curve tau (fun _ => c) n s = c.
Proof.
  induction n; simpl; [auto|].
  destruct (Rle_dec (tau (S n)) s); [auto|]. destruct (Rle_dec (tau n) s); [|exact IHn].
  apply lerp_same.
Qed.
Lemma curve_bounds tau u n s l h : timeline tau n ->
  (forall i, (i <= n)%nat -> l <= u i <= h) -> l <= curve tau u n s <= h.
Proof.
  induction n; intros T H; simpl; [apply H; lia|].
  pose proof (H n ltac:(lia)). pose proof (H (S n) ltac:(lia)).
  destruct (Rle_dec (tau (S n)) s); [lra|]. destruct (Rle_dec (tau n) s).
  - set (fr := (s - tau n) / (tau (S n) - tau n)).
    assert (0 <= fr <= 1).
    { assert (0 < tau (S n) - tau n) by lra.
      unfold fr; split; [apply Rdiv_le_0_compat; lra|].
      apply (Rdiv_le_1 (s - tau n)); lra. }
    unfold lerp. nra.
  - apply IHn; [eapply timeline_shorter; eauto | intros; apply H; lia].
Qed.

(** [(3)] The score of the interpolated key is the interpolation of the scores. *)
Theorem score_of_curve tau n d q (K : nat -> nat -> R) s :
  dot d q (fun e => curve tau (fun i => K i e) n s) = curve tau (fun i => dot d q (K i)) n s.
Proof.
  unfold dot. induction d; simpl; [now rewrite curve_const|].
  rewrite IHd.
  rewrite (curve_ext tau (fun i => sum (fun c => q c * K i c) d + q d * K i d)
    (fun i => 1 * sum (fun c => q c * K i c) d + q d * K i d)) by (intros; ring).
  rewrite curve_lin. ring.
Qed.

(** ** Windows and the visible part of a segment *)

(** The nearest time inside the window. *)
Definition clip (lo hi t : R) : R := Rmax lo (Rmin hi t).
(** Decides a goal on clips by cases. *)
Ltac clips :=
  unfold clip;
  repeat match goal with |- context [Rmin ?a ?b] =>
    destruct (Rle_dec a b); [rewrite (Rmin_left a b) by lra | rewrite (Rmin_right a b) by lra] end;
  unfold Rmax;
  repeat match goal with |- context [Rle_dec ?a ?b] => destruct (Rle_dec a b) end; lra.
Lemma clip_range lo hi t : lo <= hi -> lo <= clip lo hi t <= hi.
Proof. intros H. unfold clip. split; [apply Rmax_l | apply Rmax_lub; [exact H | apply Rmin_l]]. Qed.
Lemma clip_mono lo hi s t : s <= t -> clip lo hi s <= clip lo hi t.
Proof.
  intros H. unfold clip. apply Rle_max_compat_l. apply Rle_min_compat_l. exact H.
Qed.
Lemma clip_inside lo hi s t : s <= t -> clip lo hi s < clip lo hi t ->
  s <= clip lo hi s /\ clip lo hi t <= t.
Proof.
  intros H. clips.
Qed.
Lemma clip_id lo hi t : lo <= t <= hi -> clip lo hi t = t.
Proof.
  intros H. clips.
Qed.
Lemma clip_low lo hi t : lo <= hi -> t <= lo -> clip lo hi t = lo.
Proof.
  intros H L. clips.
Qed.
Lemma clip_high lo hi t : lo <= hi -> hi <= t -> clip lo hi t = hi.
Proof.
  intros H L. clips.
Qed.

(** The fractions of segment i at which its visible part begins and ends. *)
Definition enter (tau : nat -> R) (lo hi : R) (i : nat) : R :=
  (clip lo hi (tau i) - tau i) / duration tau i.
Definition leave (tau : nat -> R) (lo hi : R) (i : nat) : R :=
  (clip lo hi (tau (S i)) - tau i) / duration tau i.

(** A segment that is wholly inside the window is not cut. *)
Lemma enter_leave_whole tau lo hi i : tau i < tau (S i) -> lo <= tau i -> tau (S i) <= hi ->
  enter tau lo hi i = 0 /\ leave tau lo hi i = 1.
Proof.
  intros H L U. unfold enter, leave, duration. rewrite !clip_id by lra. split; field; lra.
Qed.
(** Where a part is visible it lies inside the segment. *)
Lemma enter_leave_range tau lo hi i : tau i <= tau (S i) ->
  clip lo hi (tau i) < clip lo hi (tau (S i)) ->
  0 < duration tau i /\ 0 <= enter tau lo hi i /\ enter tau lo hi i < leave tau lo hi i
  /\ leave tau lo hi i <= 1.
Proof.
  intros H C. destruct (clip_inside _ _ _ _ H C). unfold enter, leave, duration in *.
  assert (0 < tau (S i) - tau i) by lra. repeat split; auto.
  - apply Rdiv_le_0_compat; lra.
  - apply Rmult_lt_compat_r; [now apply Rinv_0_lt_compat | lra].
  - apply (Rdiv_le_1 (clip lo hi (tau (S i)) - tau i)); lra.
Qed.
(** The visible duration of a segment. *)
Lemma visible_duration tau lo hi i : tau i <= tau (S i) ->
  duration tau i * (leave tau lo hi i - enter tau lo hi i)
  = clip lo hi (tau (S i)) - clip lo hi (tau i).
Proof.
  intros [H|H]; unfold enter, leave, duration.
  - field. lra.
  - rewrite <- H. ring.
Qed.
(** Where nothing is visible the part has no length. *)
Lemma enter_leave_empty tau lo hi i : clip lo hi (tau i) = clip lo hi (tau (S i)) ->
  enter tau lo hi i = leave tau lo hi i.
Proof. intros E. unfold enter, leave. now rewrite E. Qed.

(** ** Piecewise integrals: additivity over segments *)

(** If f is read from segment functions F i of the fraction, and is constant
    before and after the nodes, then its integral over a window is a sum over
    the visible parts. *)
Lemma piecewise_integral tau n lo hi (f : R -> R) (F : nat -> R -> R) c0 c1 :
  timeline tau n -> lo <= hi ->
  (forall i, (i < n)%nat -> cts (F i)) ->
  (forall i s, (i < n)%nat -> tau i < s < tau (S i) ->
     f s = F i ((s - tau i) / (tau (S i) - tau i))) ->
  (forall s, s < tau 0%nat -> f s = c0) -> (forall s, tau n < s -> f s = c1) ->
  is_RInt f lo hi
    ((clip lo hi (tau 0%nat) - lo) * c0
     + sum (fun i => duration tau i * RInt (F i) (enter tau lo hi i) (leave tau lo hi i)) n
     + (hi - clip lo hi (tau n)) * c1).
Proof.
  intros T W FC FE F0 F1.
  assert (B : is_RInt f lo (clip lo hi (tau 0%nat)) ((clip lo hi (tau 0%nat) - lo) * c0)).
  { pose proof (clip_range lo hi (tau 0%nat) W) as R.
    apply (is_RInt_ext_le (fun _ => c0)); [lra | | apply is_RInt_const_R].
    intros s Hs. symmetry. apply F0.
    revert Hs. clips. }
  assert (A : is_RInt f (clip lo hi (tau n)) hi ((hi - clip lo hi (tau n)) * c1)).
  { pose proof (clip_range lo hi (tau n) W) as R.
    apply (is_RInt_ext_le (fun _ => c1)); [lra | | apply is_RInt_const_R].
    intros s Hs. symmetry. apply F1.
    revert Hs. clips. }
  assert (M : forall m, (m <= n)%nat -> is_RInt f (clip lo hi (tau 0%nat)) (clip lo hi (tau m))
     (sum (fun i => duration tau i * RInt (F i) (enter tau lo hi i) (leave tau lo hi i)) m)).
  { induction m; intros Hm; simpl; [apply is_RInt_point_R|].
    apply (is_RInt_Chasles_R f _ (clip lo hi (tau m))); [apply IHm; lia|]. clear IHm B A.
    pose proof (T m ltac:(lia)) as Tm.
    pose proof (clip_mono lo hi (tau m) (tau (S m)) Tm) as Cm.
    destruct Cm as [Cl | Ce].
    2:{ rewrite (enter_leave_empty tau lo hi m Ce), RInt_point_R, Rmult_0_r, Ce.
        apply is_RInt_point_R. }
    destruct (clip_inside _ _ _ _ Tm Cl) as [I1 I2].
    set (D := duration tau m). assert (HD : 0 < D) by (unfold D, duration; lra).
    apply (is_RInt_ext_le (fun s => F m ((s - tau m) / D))); [lra | |].
    { intros s Hs. symmetry. apply FE; [lia | lra]. }
    apply (is_RInt_eq _ _ _ (RInt (fun s => F m ((s - tau m) / D))
                               (clip lo hi (tau m)) (clip lo hi (tau (S m))))).
    - apply is_RInt_cts. apply (cts_comp (F m) (fun s => (s - tau m) / D)); [apply FC; lia | cts].
    - pose proof (RInt_affine (fun s => F m ((s - tau m) / D)) D (tau m)
                    (enter tau lo hi m) (leave tau lo hi m)) as Aff.
      unfold enter in Aff at 2. unfold leave in Aff at 2. fold D in Aff.
      replace (D * ((clip lo hi (tau m) - tau m) / D) + tau m) with (clip lo hi (tau m))
        in Aff by (field; lra).
      replace (D * ((clip lo hi (tau (S m)) - tau m) / D) + tau m) with (clip lo hi (tau (S m)))
        in Aff by (field; lra).
      rewrite <- Aff.
      + f_equal. apply RInt_ext_R. intros r. f_equal. field. lra.
      + apply (cts_comp (F m) (fun s => (s - tau m) / D)); [apply FC; lia | cts]. }
  apply (is_RInt_Chasles_R f lo (clip lo hi (tau n)) hi); [|exact A].
  apply (is_RInt_Chasles_R f lo (clip lo hi (tau 0%nat))); [exact B | apply M; lia].
Qed.
