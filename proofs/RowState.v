(** * RowState: partial results over runs of segments, and their merge

    A run of segments is summed up by one state: nothing at all; a single point
    in time (mass 0, but a last value); or a positive mass with its anchor (the
    exponentials are scaled by e^{-anchor}) and its normalised output.  Merging
    states in time order is associative with the empty state as identity, it is
    commutative where masses are positive, and it gives the one-pass result
    however the segments are split: tiles, split keys and threads rely on this. *)

From Coq Require Import Reals Lra Lia List FunctionalExtensionality.
From Coquelicot Require Hierarchy RInt.
From ContAttn Require Import Calculus Phi Segment Sums Curve Attention.
Import ListNotations.
Open Scope R_scope.

(** Outputs are vectors: component c is [out c]. *)
Inductive state :=
  | Empty
  | Point (last : nat -> R)
  | Mass (anchor scaled : R) (out : nat -> R).

(** The weighted mean of two vectors. *)
Definition mean (k l : R) (u w : nat -> R) : nat -> R := fun c => (k * u c + l * w c) / (k + l).

(** The merge of an earlier state with a later one. *)
Definition merge (s t : state) : state :=
  match s, t with
  | Empty, _ => t
  | _, Empty => s
  | Point _, Point v => Point v
  | Point _, Mass _ _ _ => t
  | Mass _ _ _, Point _ => s
  | Mass m k u, Mass m' k' u' =>
      let a := Rmax m m' in
      let x := k * exp (m - a) in
      let x' := k' * exp (m' - a) in
      Mass a (x + x') (mean x x' u u')
  end.

(** States that occur: masses are positive. *)
Definition valid (s : state) : Prop :=
  match s with Mass _ k _ => 0 < k | _ => True end.
Definition positive (s : state) : Prop :=
  match s with Mass _ k _ => 0 < k | _ => False end.

(** [state] Merging keeps masses positive. *)
Theorem merge_valid s t : valid s -> valid t -> valid (merge s t).
Proof.
  destruct s, t; simpl; auto. intros A B.
  pose proof (exp_pos (anchor - Rmax anchor anchor0)).
  pose proof (exp_pos (anchor0 - Rmax anchor anchor0)). nra.
Qed.

(** [state] The empty state is a left identity of the merge. *)
Theorem merge_empty_left s : merge Empty s = s.
Proof. reflexivity. Qed.

(** [state] The empty state is a right identity of the merge. *)
Theorem merge_empty_right s : merge s Empty = s.
Proof. now destruct s. Qed.

Lemma mass_eq m k u m' k' u' : m = m' -> k = k' -> (forall c, u c = u' c) ->
  Mass m k u = Mass m' k' u'.
Proof. intros -> -> E. f_equal. now apply functional_extensionality. Qed.

(** [state] Merging is associative, zero masses and their last points included. *)
Theorem merge_associative s t u : valid s -> valid t -> valid u ->
  merge (merge s t) u = merge s (merge t u).
Proof.
  destruct s as [|p|m1 k1 o1], t as [|q|m2 k2 o2], u as [|r|m3 k3 o3]; simpl; auto.
  intros H1 H2 H3. rewrite <- Rmax_assoc.
  set (b := Rmax m1 m2). set (b' := Rmax m2 m3). set (a := Rmax m1 b').
  assert (E1 : k1 * exp (m1 - b) * exp (b - a) = k1 * exp (m1 - a)).
  { rewrite Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
  assert (E2 : k2 * exp (m2 - b) * exp (b - a) = k2 * exp (m2 - a)).
  { rewrite Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
  assert (E2' : k2 * exp (m2 - b') * exp (b' - a) = k2 * exp (m2 - a)).
  { rewrite Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
  assert (E3 : k3 * exp (m3 - b') * exp (b' - a) = k3 * exp (m3 - a)).
  { rewrite Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
  assert (P1 : 0 < k1 * exp (m1 - b)) by (apply Rmult_lt_0_compat; [exact H1 | apply exp_pos]).
  assert (P2 : 0 < k2 * exp (m2 - b)) by (apply Rmult_lt_0_compat; [exact H2 | apply exp_pos]).
  assert (P2' : 0 < k2 * exp (m2 - b')) by (apply Rmult_lt_0_compat; [exact H2 | apply exp_pos]).
  assert (P3' : 0 < k3 * exp (m3 - b')) by (apply Rmult_lt_0_compat; [exact H3 | apply exp_pos]).
  assert (Q1 : 0 < k1 * exp (m1 - a)) by (apply Rmult_lt_0_compat; [exact H1 | apply exp_pos]).
  assert (Q2 : 0 < k2 * exp (m2 - a)) by (apply Rmult_lt_0_compat; [exact H2 | apply exp_pos]).
  assert (Q3 : 0 < k3 * exp (m3 - a)) by (apply Rmult_lt_0_compat; [exact H3 | apply exp_pos]).
  rewrite !Rmult_plus_distr_r, E1, E2, E2', E3.
  apply mass_eq; [reflexivity | ring |]. intros c. unfold mean.
  set (x1 := k1 * exp (m1 - a)) in *. set (x2 := k2 * exp (m2 - a)) in *.
  set (x3 := k3 * exp (m3 - a)) in *.
  replace ((x1 + x2) * ((k1 * exp (m1 - b) * o1 c + k2 * exp (m2 - b) * o2 c)
           / (k1 * exp (m1 - b) + k2 * exp (m2 - b)))) with (x1 * o1 c + x2 * o2 c).
  2:{ rewrite <- E1, <- E2. field. lra. }
  replace ((x2 + x3) * ((k2 * exp (m2 - b') * o2 c + k3 * exp (m3 - b') * o3 c)
           / (k2 * exp (m2 - b') + k3 * exp (m3 - b')))) with (x2 * o2 c + x3 * o3 c).
  2:{ rewrite <- E2', <- E3. field. lra. }
  f_equal; ring.
Qed.

(** [state] Merging is commutative where both masses are positive. *)
Theorem merge_commutative s t : positive s -> positive t -> merge s t = merge t s.
Proof.
  destruct s as [| |m1 k1 o1], t as [| |m2 k2 o2]; simpl; try tauto. intros H1 H2.
  rewrite (Rmax_comm m2 m1). apply mass_eq; [reflexivity | ring |].
  intros c. unfold mean. f_equal; ring.
Qed.

(** ** The state of a run of segments *)

(** A segment as a state sees it: its end scores, its shares, its end values. *)
Record piece := Piece { score0 : R; score1 : R; part : shares; value0 : nat -> R; value1 : nat -> R }.
Definition piece_valid (p : piece) : Prop := 0 <= left (part p) /\ 0 <= right (part p).

Definition state_of (p : piece) : state :=
  if Rlt_dec 0 (mass (part p))
  then let a := Rmax (score0 p) (score1 p) in
       Mass a (mass (part p) * exp (- a)) (mean (left (part p)) (right (part p)) (value0 p) (value1 p))
  else Point (value1 p).

Lemma state_of_valid p : valid (state_of p).
Proof.
  unfold state_of. destruct (Rlt_dec 0 (mass (part p))); simpl; auto.
  apply Rmult_lt_0_compat; [exact r | apply exp_pos].
Qed.

(** One pass: segment after segment, from left to right. *)
Definition one_pass (l : list piece) : state := fold_left (fun s p => merge s (state_of p)) l Empty.

(** Any way of splitting the work: runs of segments, merged pairwise in time order. *)
Inductive plan := Run (l : list piece) | Split (s t : plan).
Fixpoint segments (t : plan) : list piece :=
  match t with Run l => l | Split s t => segments s ++ segments t end.
Fixpoint execute (t : plan) : state :=
  match t with Run l => one_pass l | Split s t => merge (execute s) (execute t) end.

Lemma fold_valid l : forall s, valid s -> valid (fold_left (fun s p => merge s (state_of p)) l s).
Proof.
  induction l as [|p l IH]; intros s H; simpl; auto.
  apply IH, merge_valid; [exact H | apply state_of_valid].
Qed.
Lemma one_pass_valid l : valid (one_pass l).
Proof. apply fold_valid. exact I. Qed.
Lemma fold_merge l : forall s, valid s ->
  fold_left (fun s p => merge s (state_of p)) l s = merge s (one_pass l).
Proof.
  induction l as [|p l IH]; intros s H; simpl; [now rewrite merge_empty_right|].
  unfold one_pass. simpl. rewrite IH by (apply merge_valid; [exact H | apply state_of_valid]).
  rewrite (IH (state_of p)) by apply state_of_valid.
  apply merge_associative; [exact H | apply state_of_valid | apply one_pass_valid].
Qed.

(** [state] The one pass over two runs is the merge of their one passes. *)
Theorem one_pass_app l k : one_pass (l ++ k) = merge (one_pass l) (one_pass k).
Proof. unfold one_pass at 1. rewrite fold_left_app. apply fold_merge, one_pass_valid. Qed.

(** [state] Every way of splitting segments into runs and merging them in time order gives the
    one-pass state. *)
Theorem any_split t : execute t = one_pass (segments t).
Proof. induction t; simpl; [auto|]. now rewrite one_pass_app, IHt1, IHt2. Qed.

(** [state] Two ways of splitting the same segments give the same state. *)
Corollary any_two_splits t t' : segments t = segments t' -> execute t = execute t'.
Proof. intros E. now rewrite !any_split, E. Qed.

(** ** What the one pass computes *)

Fixpoint total_mass (l : list piece) : R :=
  match l with [] => 0 | p :: l => mass (part p) + total_mass l end.
Fixpoint total_value (l : list piece) (c : nat) : R :=
  match l with
  | [] => 0
  | p :: l => left (part p) * value0 p c + right (part p) * value1 p c + total_value l c
  end.

Lemma total_mass_nonneg l : Forall piece_valid l -> 0 <= total_mass l.
Proof.
  induction 1 as [|p l [HL HR] H IH]; simpl; [lra|]. unfold mass. lra.
Qed.
Lemma total_value_no_mass l c : Forall piece_valid l -> total_mass l = 0 -> total_value l c = 0.
Proof.
  induction 1 as [|p l [HL HR] H IH]; simpl; auto. unfold mass. intros E.
  pose proof (total_mass_nonneg l H).
  assert (left (part p) = 0) by lra. assert (right (part p) = 0) by lra.
  rewrite IH by lra. rewrite H1, H2. ring.
Qed.

(** [sums_to s l]: the state s says what the segments l say. *)
Definition sums_to (s : state) (l : list piece) : Prop :=
  match s with
  | Empty => l = []
  | Point v => total_mass l = 0 /\ l <> [] /\ forall d, v = value1 (last l d)
  | Mass a k u => 0 < k /\ total_mass l = k * exp a
                  /\ forall c, u c = total_value l c / total_mass l
  end.

Lemma total_mass_app l k : total_mass (l ++ k) = total_mass l + total_mass k.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma total_value_app l k c : total_value (l ++ k) c = total_value l c + total_value k c.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma last_app (l k : list piece) d : k <> [] -> last (l ++ k) d = last k d.
Proof.
  intros N. induction l as [|p l IH]; simpl; auto. rewrite <- IH.
  destruct (l ++ k) eqn:E; auto. apply app_eq_nil in E. tauto.
Qed.

Lemma sums_to_merge s t l k : Forall piece_valid l -> Forall piece_valid k ->
  sums_to s l -> sums_to t k -> sums_to (merge s t) (l ++ k).
Proof.
  intros VL VK.
  destruct s as [|p|m1 k1 o1], t as [|q|m2 k2 o2]; simpl.
  - now intros -> ->.
  - intros -> H. exact H.
  - intros -> H. exact H.
  - intros H ->. now rewrite app_nil_r.
  - intros (A1 & B1 & C1) (A2 & B2 & C2). rewrite total_mass_app. repeat split.
    + lra.
    + destruct l; [tauto|discriminate].
    + intros d. now rewrite last_app.
  - intros (A1 & B1 & C1) (A2 & B2 & C2). rewrite total_mass_app, A1, Rplus_0_l. repeat split; auto.
    intros c. rewrite total_value_app, (total_value_no_mass l) by auto. now rewrite Rplus_0_l.
  - intros H ->. now rewrite app_nil_r.
  - intros (A1 & B1 & C1) (A2 & B2 & C2). rewrite total_mass_app, A2, Rplus_0_r. repeat split; auto.
    intros c. rewrite total_value_app, (total_value_no_mass k) by auto. now rewrite Rplus_0_r.
  - intros (A1 & B1 & C1) (A2 & B2 & C2). set (a := Rmax m1 m2).
    assert (E1 : k1 * exp (m1 - a) = total_mass l * exp (- a)).
    { rewrite B1, Rmult_assoc, <- exp_plus. do 2 f_equal. }
    assert (E2 : k2 * exp (m2 - a) = total_mass k * exp (- a)).
    { rewrite B2, Rmult_assoc, <- exp_plus. do 2 f_equal. }
    assert (P1 : 0 < total_mass l) by (rewrite B1; apply Rmult_lt_0_compat; [lra | apply exp_pos]).
    assert (P2 : 0 < total_mass k) by (rewrite B2; apply Rmult_lt_0_compat; [lra | apply exp_pos]).
    pose proof (exp_pos (- a)) as PA.
    rewrite E1, E2, total_mass_app. repeat split.
    + rewrite <- Rmult_plus_distr_r. apply Rmult_lt_0_compat; lra.
    + rewrite <- Rmult_plus_distr_r, Rmult_assoc, <- exp_plus.
      replace (- a + a) with 0 by ring. rewrite exp_0. ring.
    + intros c. unfold mean. rewrite C1, C2, total_value_app.
      pose proof (Rmult_lt_0_compat _ _ P1 PA). pose proof (Rmult_lt_0_compat _ _ P2 PA).
      field. repeat split; lra.
Qed.

Lemma sums_to_piece p : piece_valid p -> sums_to (state_of p) [p].
Proof.
  intros [HL HR]. unfold state_of. destruct (Rlt_dec 0 (mass (part p))) as [M|M]; simpl.
  - set (a := Rmax (score0 p) (score1 p)). repeat split.
    + apply Rmult_lt_0_compat; [exact M | apply exp_pos].
    + rewrite Rmult_assoc, <- exp_plus. replace (- a + a) with 0 by ring. rewrite exp_0. ring.
    + intros c. unfold mean. f_equal; [ring|]. unfold mass. ring.
  - unfold mass in *. repeat split; [lra | discriminate].
Qed.

(** [state] The one-pass state holds anchor + log mass = log Z and sum P v / Z; with nothing
    but zero masses, the latest value. *)
Theorem one_pass_result l : Forall piece_valid l -> sums_to (one_pass l) l.
Proof.
  induction l as [|p l IH] using rev_ind; intros V; [reflexivity|].
  apply Forall_app in V. destruct V as [VL VP].
  rewrite one_pass_app. apply sums_to_merge; auto.
  apply sums_to_piece. now inversion VP.
Qed.

(** [state] Every way of splitting ends with that result. *)
Theorem plan_result t : Forall piece_valid (segments t) -> sums_to (execute t) (segments t).
Proof. intros V. rewrite any_split. now apply one_pass_result. Qed.

(** [state] anchor + log(mass) of a state is log Z of its segments. *)
Theorem state_lse a k u l : sums_to (Mass a k u) l -> a + ln k = ln (total_mass l).
Proof.
  intros (K & E & _). rewrite E, ln_mult, ln_exp by (auto; apply exp_pos). ring.
Qed.

(** [state] The anchor is at least every end score of the segments that have a mass. *)
Theorem one_pass_anchor l a k u : one_pass l = Mass a k u ->
  forall p, In p l -> 0 < mass (part p) -> score0 p <= a /\ score1 p <= a.
Proof.
  revert a k u. induction l as [|q l IH] using rev_ind; intros a k u E p Hp M; [destruct Hp|].
  rewrite one_pass_app in E. apply in_app_or in Hp.
  assert (Q : one_pass [q] = state_of q) by reflexivity. rewrite Q in E. clear Q.
  destruct (one_pass l) as [|v|m1 k1 o1] eqn:El.
  - destruct Hp as [Hp | [<- | []]].
    + destruct l as [|x l]; [destruct Hp|]. exfalso.
      change (one_pass ([x] ++ l) = Empty) in El. rewrite one_pass_app in El.
      change (merge (state_of x) (one_pass l) = Empty) in El.
      unfold state_of in El. destruct (Rlt_dec 0 (mass (part x))), (one_pass l); discriminate El.
    + simpl in E. unfold state_of in E. destruct (Rlt_dec 0 (mass (part q))); [|tauto].
      injection E as <- _ _. split; [apply Rmax_l | apply Rmax_r].
  - unfold state_of in E. destruct (Rlt_dec 0 (mass (part q))) as [Mq|Mq]; simpl in E; [|discriminate].
    destruct Hp as [Hp | [<- | []]].
    + exfalso. clear E IH Mq. revert v El Hp. induction l as [|x l IHl] using rev_ind; intros v El Hp; [destruct Hp|].
      rewrite one_pass_app in El. assert (Q : one_pass [x] = state_of x) by reflexivity.
      rewrite Q in El. clear Q. apply in_app_or in Hp. destruct Hp as [Hp | [<- | []]].
      * destruct (one_pass l) as [|w|] eqn:E2.
        -- destruct l as [|y l]; [destruct Hp|].
           change (one_pass ([y] ++ l) = Empty) in E2. rewrite one_pass_app in E2.
           change (merge (state_of y) (one_pass l) = Empty) in E2.
           unfold state_of in E2. destruct (Rlt_dec 0 (mass (part y))), (one_pass l); discriminate E2.
        -- exact (IHl w eq_refl Hp).
        -- unfold state_of in El. destruct (Rlt_dec 0 (mass (part x))); discriminate El.
      * unfold state_of in El. destruct (Rlt_dec 0 (mass (part x))); [|tauto].
        destruct (one_pass l); discriminate El.
    + injection E as <- _ _. split; [apply Rmax_l | apply Rmax_r].
  - unfold state_of in E. destruct (Rlt_dec 0 (mass (part q))) as [Mq|Mq]; simpl in E.
    + injection E as <- _ _. destruct Hp as [Hp | [<- | []]].
      * destruct (IH m1 k1 o1 eq_refl p Hp M).
        pose proof (Rmax_l m1 (Rmax (score0 q) (score1 q))). lra.
      * pose proof (Rmax_r m1 (Rmax (score0 q) (score1 q))).
        pose proof (Rmax_l (score0 q) (score1 q)). pose proof (Rmax_r (score0 q) (score1 q)). lra.
    + injection E as <- _ _. destruct Hp as [Hp | [<- | []]]; [|tauto].
      exact (IH m1 k1 o1 eq_refl p Hp M).
Qed.

(** ** States and the operator *)

(** The visible segments of a window, for a query with scores a. *)
Definition window_pieces (tau a : nat -> R) (V : nat -> nat -> R) (n : nat) (lo hi : R) : list piece :=
  map (fun i => Piece (a i) (a (S i)) (visible tau a lo hi i) (V i) (V (S i))) (seq 0 n).

Lemma total_mass_seq (f : nat -> piece) n : total_mass (map f (seq 0 n)) = sum (fun i => mass (part (f i))) n.
Proof. induction n; [reflexivity|]. rewrite seq_S, map_app, total_mass_app, IHn. simpl. ring. Qed.
Lemma total_value_seq (f : nat -> piece) n c :
  total_value (map f (seq 0 n)) c
  = sum (fun i => left (part (f i)) * value0 (f i) c + right (part (f i)) * value1 (f i) c) n.
Proof. induction n; [reflexivity|]. rewrite seq_S, map_app, total_value_app, IHn. simpl. ring. Qed.

(** [state] For a window inside the nodes, split in any way, the merged state holds o and log Z
    of (2). *)
Theorem row_state_is_attention scale d q K V tau n lo hi t : timeline tau n ->
  tau 0%nat <= lo -> lo < hi -> hi <= tau n ->
  let a := score scale d q K in
  segments t = window_pieces tau a V n lo hi ->
  exists m k u, execute t = Mass m k u
    /\ (forall c, u c = attention scale d q K V tau n lo hi c)
    /\ m + ln k = ln (RInt.RInt (V := Hierarchy.R_CompleteNormedModule)
                        (fun s => exp (curve tau a n s)) lo hi).
Proof.
  intros T L0 W L1 a E.
  assert (VP : Forall piece_valid (segments t)).
  { rewrite E. apply Forall_forall. intros p Hp. apply in_map_iff in Hp.
    destruct Hp as (i & <- & Hi). apply in_seq in Hi.
    destruct (visible_nonneg tau a lo hi i) as (? & ? & _); [apply T; lia | split; assumption]. }
  assert (HB : held_before tau a lo hi = 0 /\ held_after tau a n lo hi = 0).
  { unfold held_before, held_after. rewrite clip_low, clip_high by lra. split; ring. }
  destruct HB as [HB HA].
  assert (TM : total_mass (segments t) = Z tau a n lo hi).
  { rewrite E. unfold window_pieces. rewrite total_mass_seq. unfold Z, P.
    rewrite node_mass_total, HB, HA. simpl. ring. }
  assert (TV : forall c, total_value (segments t) c = sum_PV tau a V n lo hi c).
  { intros c. rewrite E. unfold window_pieces. rewrite total_value_seq. unfold sum_PV, P.
    rewrite <- (eq9_rearrange (visible tau a lo hi) _ _ n (fun i => V i c)), HB, HA. simpl. ring. }
  pose proof (Z_pos tau a n lo hi T W) as ZP.
  pose proof (plan_result t VP) as R. destruct (execute t) as [|v|m k u] eqn:X.
  - simpl in R. rewrite R in TM. simpl in TM. lra.
  - destruct R as (R & _). lra.
  - exists m, k, u. split; [reflexivity|]. split.
    + intros c. destruct R as (_ & _ & R). rewrite R, TV, TM.
      rewrite attention_nodes by (auto; lra). reflexivity.
    + rewrite (state_lse m k u _ R), TM. f_equal. symmetry.
      apply is_RInt_value, eq9_denominator; [exact T | lra].
Qed.
