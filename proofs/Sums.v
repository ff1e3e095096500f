(** * Sums: finite sums over nodes and segments *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus.
Open Scope R_scope.

(** [sum f n] = f 0 + ... + f (n-1): n segments, or [sum f (S n)] for nodes 0..n. *)
Fixpoint sum (f : nat -> R) (n : nat) : R :=
  match n with O => 0 | S m => sum f m + f m end.

Lemma sum_S f n : sum f (S n) = sum f n + f n.
Proof. reflexivity. Qed.
Lemma sum_ext f g n : (forall i, (i < n)%nat -> f i = g i) -> sum f n = sum g n.
Proof. induction n; intros H; simpl; [auto|]. rewrite IHn, H by (intros; try apply H; lia). auto. Qed.
Lemma sum_0 f n : (forall i, (i < n)%nat -> f i = 0) -> sum f n = 0.
Proof. induction n; intros H; simpl; [auto|]. rewrite IHn, H by (intros; try apply H; lia). ring. Qed.
Lemma sum_scal c f n : sum (fun i => c * f i) n = c * sum f n.
Proof. induction n; simpl; rewrite ?IHn; ring. Qed.
Lemma sum_plus f g n : sum (fun i => f i + g i) n = sum f n + sum g n.
Proof. induction n; simpl; rewrite ?IHn; ring. Qed.
Lemma sum_minus f g n : sum (fun i => f i - g i) n = sum f n - sum g n.
Proof. induction n; simpl; rewrite ?IHn; ring. Qed.
Lemma sum_le f g n : (forall i, (i < n)%nat -> f i <= g i) -> sum f n <= sum g n.
Proof.
  induction n; intros H; simpl; [lra|].
  apply Rplus_le_compat; [apply IHn; intros; apply H; lia | apply H; lia].
Qed.
Lemma sum_nonneg f n : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum f n.
Proof.
  intros H. apply Rle_trans with (sum (fun _ => 0) n); [rewrite sum_0; auto; lra | now apply sum_le].
Qed.
Lemma sum_pos_one f n j : (forall i, (i < n)%nat -> 0 <= f i) -> (j < n)%nat -> 0 < f j -> 0 < sum f n.
Proof.
  induction n; intros H L P; [lia|]. simpl.
  destruct (Nat.eq_dec j n) as [->|N].
  - pose proof (sum_nonneg f n ltac:(intros; apply H; lia)). lra.
  - pose proof (IHn ltac:(intros; apply H; lia) ltac:(lia) P). pose proof (H n ltac:(lia)). lra.
Qed.
Lemma sum_abs f n : Rabs (sum f n) <= sum (fun i => Rabs (f i)) n.
Proof.
  induction n; simpl; [rewrite Rabs_R0; lra|].
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.
Lemma sum_first f n : sum f (S n) = f 0%nat + sum (fun i => f (S i)) n.
Proof. induction n; [simpl; ring|]. rewrite sum_S, IHn. simpl. ring. Qed.
Lemma sum_app f n m : sum f (n + m) = sum f n + sum (fun i => f (n + i)%nat) m.
Proof.
  induction m; [rewrite Nat.add_0_r; simpl; ring|].
  rewrite Nat.add_succ_r. simpl. rewrite IHm. ring.
Qed.
Lemma sum_reverse f n : sum (fun i => f (n - i)%nat) (S n) = sum f (S n).
Proof.
  induction n; [simpl; ring|].
  rewrite sum_first, Nat.sub_0_r, (sum_S f (S n)), <- IHn. rewrite Rplus_comm. f_equal.
Qed.
Lemma sum_swap (f : nat -> nat -> R) n m :
  sum (fun i => sum (fun j => f i j) m) n = sum (fun j => sum (fun i => f i j) n) m.
Proof.
  induction n; simpl; [symmetry; now apply sum_0|].
  now rewrite IHn, <- sum_plus.
Qed.

(** The indicator of an index. *)
Definition delta (i j : nat) : R := if Nat.eqb i j then 1 else 0.
Lemma delta_same i : delta i i = 1.
Proof. unfold delta. now rewrite Nat.eqb_refl. Qed.
Lemma delta_other i j : i <> j -> delta i j = 0.
Proof. intros N. unfold delta. apply Nat.eqb_neq in N. now rewrite N. Qed.
Lemma sum_delta f n j : (j < n)%nat -> sum (fun i => f i * delta j i) n = f j.
Proof.
  induction n; intros L; [lia|]. simpl. destruct (Nat.eq_dec j n) as [->|N].
  - rewrite delta_same, sum_0; [ring|]. intros i Hi. rewrite delta_other by lia. ring.
  - rewrite IHn, delta_other by lia. ring.
Qed.

(** Splitting item j into two items with the same total leaves a sum as it is. *)
Definition split_at {A : Type} (j : nat) (f : nat -> A) (x y : A) (i : nat) : A :=
  if Nat.ltb i j then f i else if Nat.eqb i j then x
  else if Nat.eqb i (S j) then y else f (pred i).
Lemma sum_split f n j x y : (j < n)%nat -> x + y = f j ->
  sum (split_at j f x y) (S n) = sum f n.
Proof.
  intros L E. induction n; [lia|]. rewrite (sum_S _ (S n)).
  destruct (Nat.eq_dec j n) as [->|N].
  - rewrite !sum_S. rewrite (sum_ext (split_at n f x y) f n).
    + unfold split_at. rewrite Nat.ltb_irrefl, !Nat.eqb_refl.
      replace (Nat.ltb (S n) n) with false by (symmetry; apply Nat.ltb_ge; lia).
      replace (Nat.eqb (S n) n) with false by (symmetry; apply Nat.eqb_neq; lia). lra.
    + intros i Hi. unfold split_at. apply Nat.ltb_lt in Hi. now rewrite Hi.
  - rewrite IHn by lia. simpl. f_equal. unfold split_at.
    replace (Nat.ltb (S n) j) with false by (symmetry; apply Nat.ltb_ge; lia).
    replace (Nat.eqb (S n) j) with false by (symmetry; apply Nat.eqb_neq; lia).
    replace (Nat.eqb (S n) (S j)) with false by (symmetry; apply Nat.eqb_neq; lia).
    reflexivity.
Qed.

(** Derivative of a sum. *)
Lemma is_derive_sum (f : nat -> R -> R) (df : nat -> R) n (x : R) :
  (forall i, (i < n)%nat -> is_derive (f i) x (df i)) ->
  is_derive (fun y => sum (fun i => f i y) n) x (sum df n).
Proof.
  induction n; intros H; simpl; [apply is_derive_const_R|].
  apply (is_derive_plus_R (fun y => sum (fun i => f i y) n) (f n)).
  - apply IHn. intros; apply H; lia.
  - apply H; lia.
Qed.

(** Inner product of two vectors with d components. *)
Definition dot (d : nat) (q k : nat -> R) : R := sum (fun c => q c * k c) d.
