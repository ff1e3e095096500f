(** * Series: phi2 and psi as Taylor polynomials with bounded remainders

    Prepares Numbers.v.  phi_{k+1} is the weighted integral with weight
    (1-s)^k / k!; the recurrence takes phi2 and psi apart term by term. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi.
Open Scope R_scope.

(** k! as a real number. *)
Fixpoint rfact (k : nat) : R := match k with O => 1 | S j => INR (S j) * rfact j end.
Lemma rfact_pos k : 0 < rfact k.
Proof.
  induction k; [simpl; lra|]. change (0 < INR (S k) * rfact k).
  apply Rmult_lt_0_compat; [apply lt_0_INR; lia | exact IHk].
Qed.
Lemma rfact_value k (n : Z) : rfact k = IZR n -> rfact (S k) = IZR (Z.of_nat (S k) * n).
Proof.
  intros E. change (rfact (S k)) with (INR (S k) * rfact k).
  now rewrite E, INR_IZR_INZ, mult_IZR.
Qed.

(** [phin k] is phi_{k+1}. *)
Definition phin (k : nat) (x : R) : R := expint (fun s => (1 - s) ^ k / rfact k) x.
Lemma cts_phin k : cts (fun s => (1 - s) ^ k / rfact k).
Proof. cts. Qed.

(** [phi] phi_k(x) = x phi_{k+1}(x) + 1/k!, for every k >= 1 and every x. *)
Theorem phin_recurrence k x : phin k x = x * phin (S k) x + / rfact (S k).
Proof.
  pose proof (rfact_pos k) as F. pose proof (rfact_pos (S k)) as F'.
  assert (N : INR (S k) <> 0) by (apply not_0_INR; lia).
  unfold phin at 2.
  rewrite (expint_parts (fun s => (1 - s) ^ S k / rfact (S k))
    (fun s => -1 * ((1 - s) ^ k / rfact k) + 0 * 1) x).
  - rewrite (expint_lin (fun s => (1 - s) ^ k / rfact k) (fun _ => 1)) by cts. fold (phin k x).
    rewrite Rminus_eq_0, Rminus_0_r, pow1, pow_i by lia. field. lra.
  - intros s. auto_derive; [auto|]. real_eq. replace (1 + - s) with (1 - s) by ring.
    change (rfact (S k)) with (INR (S k) * rfact k).
    change (match k with O => 1 | S _ => INR k + 1 end) with (INR (S k)). field. lra.
  - cts.
Qed.

(** [phi] phi2 is the member k = 2 of that family. *)
Theorem phin_1 x : phi2 x = phin 1 x.
Proof. unfold phin. rewrite phi2_expint. apply expint_ext. intros s. simpl. field. Qed.

(** [phi] 0 < phi_{k+1}(x) <= 3/(k+1)! for x <= 1. *)
Theorem phin_bounds k x : x <= 1 -> 0 < phin k x <= 3 / rfact (S k).
Proof.
  intros Hx. pose proof (rfact_pos k) as F. split.
  - apply expint_pos; [apply cts_phin|]. intros s Hs.
    apply Rdiv_lt_0_compat; [apply pow_lt; lra | exact F].
  - assert (N : INR (S k) <> 0) by (apply not_0_INR; lia).
    apply Rle_trans with (RInt (fun s => 3 * ((1 - s) ^ k / rfact k)) 0 1).
    + pose proof (cts_phin k). apply RInt_le_cts; [lra | cts | cts |]. intros s Hs.
      apply Rmult_le_compat_r.
      * apply Rdiv_le_0_compat; [apply pow_le; lra | exact F].
      * apply Rle_trans with (exp 1); [apply exp_le_mono; nra | apply exp_le_3].
    + right. apply is_RInt_value.
      apply (is_RInt_antiderivative (fun s => -3 * ((1 - s) ^ S k / rfact (S k)))).
      * intros s. auto_derive; [auto|]. real_eq. replace (1 + - s) with (1 - s) by ring.
        change (rfact (S k)) with (INR (S k) * rfact k).
        change (match k with O => 1 | S _ => INR k + 1 end) with (INR (S k)). field. lra.
      * pose proof (cts_phin k). cts.
      * rewrite Rminus_eq_0, Rminus_0_r, pow1, pow_i by lia. field. pose proof (rfact_pos (S k)). lra.
Qed.

(** The Taylor polynomial of phi2, degree 10. *)
Definition phi2_taylor (x : R) : R :=
  1/2 + x*(1/6 + x*(1/24 + x*(1/120 + x*(1/720 + x*(1/5040 + x*(1/40320
  + x*(1/362880 + x*(1/3628800 + x*(1/39916800 + x/479001600))))))))).

(** [phi] abs(phi2(x) - its Taylor polynomial of degree 10) <= 5e-10 on [-1, 1]. *)
Theorem phi2_taylor_error x : -1 <= x <= 1 -> Rabs (phi2 x - phi2_taylor x) <= 1 / 2000000000.
Proof.
  intros Hx.
  pose proof (eq_refl : rfact 0 = 1) as F0.
  pose proof (rfact_value 0 1 F0) as F1. pose proof (rfact_value _ _ F1) as F2.
  pose proof (rfact_value _ _ F2) as F3. pose proof (rfact_value _ _ F3) as F4.
  pose proof (rfact_value _ _ F4) as F5. pose proof (rfact_value _ _ F5) as F6.
  pose proof (rfact_value _ _ F6) as F7. pose proof (rfact_value _ _ F7) as F8.
  pose proof (rfact_value _ _ F8) as F9. pose proof (rfact_value _ _ F9) as F10.
  pose proof (rfact_value _ _ F10) as F11. pose proof (rfact_value _ _ F11) as F12.
  pose proof (rfact_value _ _ F12) as F13.
  cbv [Z.of_nat Z.mul Pos.of_succ_nat Pos.succ Pos.mul Pos.add] in *.
  assert (E : phi2 x - phi2_taylor x = x ^ 11 * phin 12 x).
  { rewrite phin_1. do 11 rewrite phin_recurrence.
    rewrite F2, F3, F4, F5, F6, F7, F8, F9, F10, F11, F12. unfold phi2_taylor. field. }
  destruct (phin_bounds 12 x ltac:(lra)) as [P B]. rewrite F13 in B.
  rewrite E, Rabs_mult, (Rabs_right (phin 12 x)), <- RPow_abs by lra.
  assert (A : Rabs x ^ 11 <= 1).
  { rewrite <- (pow1 11). apply pow_incr. split; [apply Rabs_pos | apply Rabs_le; lra]. }
  apply Rle_trans with (1 * phin 12 x); [apply Rmult_le_compat_r; lra | lra].
Qed.

(** The Taylor polynomial of psi, degree 10: psi = phi2 - 2 phi3 term by term. *)
Definition psi_taylor (x : R) : R :=
  1/6 + x*(2/24 + x*(3/120 + x*(4/720 + x*(5/5040 + x*(6/40320 + x*(7/362880
  + x*(8/3628800 + x*(9/39916800 + x*(10/479001600 + x*(11/6227020800)))))))))).

(** [phi] abs(psi(x) - its Taylor polynomial of degree 10) <= 5e-10 on [-1, 1]. *)
Theorem psi_taylor_error x : -1 <= x <= 1 -> Rabs (psi x - psi_taylor x) <= 1 / 2000000000.
Proof.
  intros Hx.
  pose proof (eq_refl : rfact 0 = 1) as F0.
  pose proof (rfact_value 0 1 F0) as F1. pose proof (rfact_value _ _ F1) as F2.
  pose proof (rfact_value _ _ F2) as F3. pose proof (rfact_value _ _ F3) as F4.
  pose proof (rfact_value _ _ F4) as F5. pose proof (rfact_value _ _ F5) as F6.
  pose proof (rfact_value _ _ F6) as F7. pose proof (rfact_value _ _ F7) as F8.
  pose proof (rfact_value _ _ F8) as F9. pose proof (rfact_value _ _ F9) as F10.
  pose proof (rfact_value _ _ F10) as F11. pose proof (rfact_value _ _ F11) as F12.
  pose proof (rfact_value _ _ F12) as F13. pose proof (rfact_value _ _ F13) as F14.
  cbv [Z.of_nat Z.mul Pos.of_succ_nat Pos.succ Pos.mul Pos.add] in *.
  assert (P3 : phi3 x = phin 2 x).
  { unfold phin. rewrite phi3_expint. apply expint_ext. intros s. rewrite F2. reflexivity. }
  assert (E : psi x - psi_taylor x = x ^ 11 * (phin 12 x - 2 * phin 13 x)).
  { rewrite psi_phi, phin_1, P3.
    assert (A : phin 1 x = phi2_taylor x + x ^ 11 * phin 12 x).
    { do 11 rewrite phin_recurrence.
      rewrite F2, F3, F4, F5, F6, F7, F8, F9, F10, F11, F12. unfold phi2_taylor. field. }
    assert (B : phin 2 x = 1/6 + x*(1/24 + x*(1/120 + x*(1/720 + x*(1/5040 + x*(1/40320
      + x*(1/362880 + x*(1/3628800 + x*(1/39916800 + x*(1/479001600 + x*(1/6227020800))))))))))
      + x ^ 11 * phin 13 x).
    { do 11 rewrite phin_recurrence.
      rewrite F3, F4, F5, F6, F7, F8, F9, F10, F11, F12, F13. field. }
    rewrite A, B. unfold psi_taylor, phi2_taylor. field. }
  destruct (phin_bounds 12 x ltac:(lra)) as [P B]. rewrite F13 in B.
  destruct (phin_bounds 13 x ltac:(lra)) as [Q C]. rewrite F14 in C.
  rewrite E, Rabs_mult, <- RPow_abs.
  assert (A : Rabs x ^ 11 <= 1).
  { rewrite <- (pow1 11). apply pow_incr. split; [apply Rabs_pos | apply Rabs_le; lra]. }
  apply Rle_trans with (1 * Rabs (phin 12 x - 2 * phin 13 x)).
  - apply Rmult_le_compat_r; [apply Rabs_pos | exact A].
  - rewrite Rmult_1_l. apply Rabs_le. lra.
Qed.
