(** * FiniteElements: masses as integrals against hat functions

    The curve is sum_i u_i N_i with the hat functions N_i.  The mass of node i is
    P_i = int e^a N_i, and the derivatives of the masses are the mass matrix
    M_ij = int e^a N_i N_j, tridiagonal with the couplings beside its diagonal. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment SegmentDerivatives Sums Curve Attention Gradient Backward.
Open Scope R_scope.

(** The hat function of node i: the reading of the i-th indicator. *)
Definition hat (tau : nat -> R) (n i : nat) (s : R) : R := curve tau (delta i) n s.

(** [finite elements] Every curve is sum_i u_i N_i(s) with the hat functions N_i. *)
Theorem curve_of_hats tau u n s : curve tau u n s = sum (fun i => u i * hat tau n i s) (S n).
Proof.
  assert (G : forall m, (m <= n)%nat ->
    curve tau (fun j => sum (fun i => u i * delta i j) (S m)) n s
    = sum (fun i => u i * hat tau n i s) (S m)).
  { induction m; intros H.
    - simpl. rewrite Rplus_0_l. unfold hat.
      rewrite (curve_ext tau _ (fun j => u 0%nat * delta 0 j + 0 * 0)) by (intros; simpl; ring).
      rewrite (curve_lin tau (delta 0) (fun _ => 0)). ring.
    - rewrite sum_S, <- IHm by lia. unfold hat.
      rewrite (curve_ext tau (fun j => sum (fun i => u i * delta i j) (S (S m)))
        (fun j => 1 * sum (fun i => u i * delta i j) (S m) + u (S m) * delta (S m) j))
        by (intros; simpl; ring).
      rewrite (curve_lin tau _ (delta (S m))). ring. }
  rewrite <- (G n) by lia. apply curve_ext. intros j Hj.
  rewrite (sum_ext _ (fun i => u i * delta j i)).
  - now rewrite sum_delta by lia.
  - intros i _. f_equal. unfold delta. now rewrite Nat.eqb_sym.
Qed.

(** [finite elements] The hat functions sum to one. *)
Theorem hats_partition tau n s : sum (fun i => hat tau n i s) (S n) = 1.
Proof.
  rewrite <- (curve_const tau 1 n s), curve_of_hats. apply sum_ext. intros. ring.
Qed.

(** [finite elements] P_i = int e^a N_i, over any window. *)
Theorem mass_is_hat_integral tau a n lo hi i : timeline tau n -> lo <= hi -> (i <= n)%nat ->
  is_RInt (fun s => exp (curve tau a n s) * hat tau n i s) lo hi (P tau a n lo hi i).
Proof.
  intros T W L. apply (is_RInt_eq _ _ _ _ _ (eq9_numerator tau a (delta i) n lo hi T W)).
  apply sum_delta. lia.
Qed.

(** [finite elements] int e^a v w = sum_i P_i v_i w_i - sum_i h_i (v_{i+1} - v_i)(w_{i+1} -
    w_i). *)
Theorem mass_form tau a v w n lo hi : timeline tau n -> lo <= hi ->
  is_RInt (fun s => exp (curve tau a n s) * (curve tau v n s * curve tau w n s)) lo hi
    (sum (fun i => P tau a n lo hi i * (v i * w i)) (S n)
     - sum (fun i => coupling (visible tau a lo hi i) * (v (S i) - v i) * (w (S i) - w i)) n).
Proof.
  intros T W.
  pose proof (piecewise_integral tau n lo hi
    (fun s => exp (curve tau a n s) * (curve tau v n s * curve tau w n s))
    (fun i r => exp (lerp (a i) (a (S i)) r) * (lerp (v i) (v (S i)) r * lerp (w i) (w (S i)) r))
    (exp (a 0%nat) * (v 0%nat * w 0%nat)) (exp (a n) * (v n * w n)) T W) as I.
  assert (C : forall i, cts (fun r => lerp (v i) (v (S i)) r * lerp (w i) (w (S i)) r)).
  { intros i. apply cts_mult; apply cts_lerp. }
  eapply is_RInt_eq; [apply I|].
  - intros i _. exact (cts_moment (a i) (a (S i)) _ (C i)).
  - intros i s Hi Hs. rewrite !(eq3_curve tau _ n i s T Hi) by lra. reflexivity.
  - intros s Hs. now rewrite !curve_before.
  - intros s Hs. now rewrite !curve_after by lra.
  - clear I. unfold P. rewrite <- (eq9_rearrange _ _ _ n (fun i => v i * w i)).
    unfold held_before, held_after.
    assert (E : forall i, duration tau i * moment (a i) (a (S i)) (enter tau lo hi i) (leave tau lo hi i)
        (fun r => lerp (v i) (v (S i)) r * lerp (w i) (w (S i)) r)
      = (left (visible tau a lo hi i) * (v i * w i) + right (visible tau a lo hi i) * (v (S i) * w (S i)))
        + -1 * (coupling (visible tau a lo hi i) * (v (S i) - v i) * (w (S i) - w i))).
    { intros i. unfold visible. rewrite linear_cut_integral. cbn [left right coupling].
      rewrite (moment_ext _ _ _ _ (fun r => lerp (v i) (v (S i)) r * lerp (w i) (w (S i)) r)
        (fun r => v i * w i * (1 - r) + 1 * (v (S i) * w (S i) * r
                  + - ((v (S i) - v i) * (w (S i) - w i)) * (r * (1 - r)))))
        by (intros; unfold lerp; ring).
      rewrite (moment_lin _ _ _ _ (fun r => 1 - r) (fun r => v (S i) * w (S i) * r
                  + - ((v (S i) - v i) * (w (S i) - w i)) * (r * (1 - r)))) by cts.
      rewrite (moment_lin _ _ _ _ (fun r => r) (fun r => r * (1 - r))) by cts. ring. }
    change (fun i => duration tau i * RInt _ _ _) with
      (fun i => duration tau i * moment (a i) (a (S i)) (enter tau lo hi i) (leave tau lo hi i)
        (fun r => lerp (v i) (v (S i)) r * lerp (w i) (w (S i)) r)).
    rewrite (sum_ext _ _ n (fun i _ => E i)), sum_plus, sum_scal. ring.
Qed.

(** The mass matrix. *)
Definition mass_matrix (tau a : nat -> R) (n : nat) (lo hi : R) (i j : nat) : R :=
  RInt (fun s => exp (curve tau a n s) * (hat tau n i s * hat tau n j s)) lo hi.

(** [finite elements] M_ij = int e^a N_i N_j in terms of the masses and the couplings. *)
Theorem mass_matrix_entry tau a n lo hi i j : timeline tau n -> lo <= hi ->
  (i <= n)%nat -> (j <= n)%nat ->
  mass_matrix tau a n lo hi i j
  = P tau a n lo hi i * delta j i
    + diffusion (fun k => coupling (visible tau a lo hi k)) (delta j) n i.
Proof.
  intros T W Hi Hj. unfold mass_matrix, hat.
  rewrite (is_RInt_value _ _ _ _ (mass_form tau a (delta i) (delta j) n lo hi T W)).
  rewrite (sum_ext (fun k => P tau a n lo hi k * (delta i k * delta j k))
    (fun k => P tau a n lo hi k * delta j k * delta i k)) by (intros; ring).
  rewrite sum_delta by lia.
  rewrite (sum_ext (fun k => coupling (visible tau a lo hi k) * (delta i (S k) - delta i k)
                             * (delta j (S k) - delta j k))
    (fun k => flux (fun k => coupling (visible tau a lo hi k)) (delta j) k * (delta i (S k) - delta i k)))
    by (intros; unfold flux; ring).
  rewrite diffusion_parts.
  rewrite (sum_ext _ (fun k => diffusion (fun k => coupling (visible tau a lo hi k)) (delta j) n k
                               * delta i k)) by (intros; ring).
  rewrite sum_delta by lia. ring.
Qed.

(** [finite elements] Beside the diagonal of M stand the couplings h. *)
Theorem mass_matrix_neighbour tau a n lo hi i : timeline tau n -> lo <= hi -> (i < n)%nat ->
  mass_matrix tau a n lo hi i (S i) = coupling (visible tau a lo hi i)
  /\ mass_matrix tau a n lo hi (S i) i = coupling (visible tau a lo hi i).
Proof.
  intros T W L. rewrite !mass_matrix_entry by (auto; lia).
  unfold diffusion, flux.
  assert (D : delta (S i) i = 0 /\ delta i (S i) = 0 /\ delta i i = 1 /\ delta (S i) (S i) = 1).
  { repeat split; first [apply delta_same | apply delta_other; lia]. }
  destruct D as (D1 & D2 & D3 & D4). split.
  - destruct (Nat.eqb_spec i n); [lia|]. rewrite D1, D4.
    destruct i as [|k]; [ring|]. rewrite D1, (delta_other (S (S k)) k) by lia. ring.
  - rewrite D2, D3. destruct (Nat.eqb_spec (S i) n); [ring|].
    rewrite (delta_other i (S (S i))) by lia. ring.
Qed.

(** [finite elements] M_ij = 0 where i and j are more than one apart. *)
Theorem mass_matrix_far tau a n lo hi i j : timeline tau n -> lo <= hi ->
  (i <= n)%nat -> (j <= n)%nat -> (S i < j \/ S j < i)%nat -> mass_matrix tau a n lo hi i j = 0.
Proof.
  intros T W Hi Hj F. rewrite mass_matrix_entry by auto. rewrite delta_other by lia.
  unfold diffusion, flux.
  rewrite (delta_other j (S i)), (delta_other j i) by lia.
  destruct i as [|k]; destruct (Nat.eqb _ n);
    rewrite ?(delta_other j (S k)), ?(delta_other j k) by lia; ring.
Qed.

(** [finite elements] M_ii = P_i less the couplings of the two segments at node i. *)
Theorem mass_matrix_diagonal tau a n lo hi i : timeline tau n -> lo <= hi -> (i <= n)%nat ->
  mass_matrix tau a n lo hi i i
  = P tau a n lo hi i - (if Nat.eqb i n then 0 else coupling (visible tau a lo hi i))
    - match i with O => 0 | S j => coupling (visible tau a lo hi j) end.
Proof.
  intros T W L. rewrite mass_matrix_entry by auto. rewrite delta_same.
  unfold diffusion, flux. rewrite delta_same, (delta_other i (S i)) by lia.
  destruct i as [|k]; destruct (Nat.eqb _ n); rewrite ?delta_same, ?(delta_other (S k) k) by lia; ring.
Qed.

(** [finite elements] dP_i/da_j = M_ij. *)
Theorem mass_derivative_is_matrix tau a n lo hi i j x : timeline tau n -> lo <= hi ->
  (i <= n)%nat -> (j <= n)%nat ->
  is_derive (fun t => P tau (along a (delta j) t) n lo hi i) x
    (mass_matrix tau (along a (delta j) x) n lo hi i j).
Proof.
  intros T W Hi Hj. rewrite mass_matrix_entry by auto.
  exact (mass_derivative (window_rule tau lo hi) (duration tau) (clip lo hi (tau 0%nat) - lo)
    (hi - clip lo hi (tau n)) n a (delta j) x i
    (fun k _ => linear_score_derivatives _ _) Hi).
Qed.

(** [finite elements] dZ/da_j = P_j. *)
Theorem total_derivative_is_mass tau a n lo hi j x : timeline tau n -> lo <= hi -> (j <= n)%nat ->
  is_derive (fun t => Z tau (along a (delta j) t) n lo hi) x (P tau (along a (delta j) x) n lo hi j).
Proof.
  intros T W Hj. unfold Z. eapply is_derive_eq.
  - apply (is_derive_sum (fun i t => P tau (along a (delta j) t) n lo hi i)
      (fun i => P tau (along a (delta j) x) n lo hi i * delta j i
       + diffusion (fun k => coupling (visible tau (along a (delta j) x) lo hi k)) (delta j) n i)).
    intros i Hi. rewrite <- mass_matrix_entry by (auto; lia).
    apply mass_derivative_is_matrix; auto; lia.
  - rewrite sum_plus, sum_delta by lia. rewrite diffusion_total. ring.
Qed.
