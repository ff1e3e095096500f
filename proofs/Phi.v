(** * Phi: the functions phi1, phi2, phi3 and psi

    Equations (6) and (7), and everything else about these four functions that
    the rest of the derivation and the code rely on.  All four are defined by
    their integrals, so they exist for every real argument; the closed forms,
    which divide by x, are theorems for x <> 0. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus.
Open Scope R_scope.

(** ** Weighted exponential integrals

    All four are int_0^1 e^{sx} g(s) ds for a polynomial weight g.  What holds
    for every continuous weight is proved once. *)

Definition expint (g : R -> R) (x : R) : R := RInt (fun s => exp (s * x) * g s) 0 1.

Lemma is_RInt_expint g x : cts g -> is_RInt (fun s => exp (s * x) * g s) 0 1 (expint g x).
Proof. intros G. apply is_RInt_cts. cts. Qed.

Lemma expint_ext g h x : (forall s, g s = h s) -> expint g x = expint h x.
Proof. intros E. apply RInt_ext_R. intros s. now rewrite E. Qed.

Lemma expint_lin g h c d x : cts g -> cts h ->
  expint (fun s => c * g s + d * h s) x = c * expint g x + d * expint h x.
Proof.
  intros G H. apply is_RInt_value.
  generalize (is_RInt_plus_R _ _ _ _ _ _
    (is_RInt_scal_R _ _ _ c _ (is_RInt_expint g x G))
    (is_RInt_scal_R _ _ _ d _ (is_RInt_expint h x H))).
  apply is_RInt_ext_R. intros s _. ring.
Qed.

Lemma expint_pos g x : cts g -> (forall s, 0 < s < 1 -> 0 < g s) -> 0 < expint g x.
Proof.
  intros G P. apply RInt_pos_cts; [lra | cts |].
  intros s Hs. apply Rmult_lt_0_compat; [apply exp_pos | now apply P].
Qed.

Lemma expint_increasing g x y : cts g -> (forall s, 0 < s < 1 -> 0 < g s) ->
  x < y -> expint g x < expint g y.
Proof.
  intros G P L. apply RInt_lt_cts; [lra | cts | cts |].
  intros s Hs. apply Rmult_lt_compat_r; [now apply P|]. apply exp_increasing. nra.
Qed.

Lemma expint_derive g x : cts g -> is_derive (expint g) x (expint (fun s => s * g s) x).
Proof.
  intros G.
  assert (D := is_derive_exp_integral (fun _ => 0) (fun s => s) g 0 1 x
                 (cts_const 0) cts_id G).
  apply (is_derive_ext_R (fun y => RInt (fun s => exp (0 + y * s) * g s) 0 1)).
  { intros y. apply RInt_ext_R. intros s. do 2 f_equal. ring. }
  apply (is_derive_eq _ _ _ _ D). apply RInt_ext_R. intros s. do 2 f_equal. ring.
Qed.

(** Integration by parts. *)
Lemma expint_parts (g dg : R -> R) x : (forall s, is_derive g s (dg s)) -> cts dg ->
  x * expint g x = exp x * g 1 - g 0 - expint dg x.
Proof.
  intros D C. assert (G : cts g) by exact (cts_of_derive g dg D).
  assert (I : is_RInt (fun s => x * (exp (s * x) * g s) + exp (s * x) * dg s) 0 1
                (exp x * g 1 - g 0)).
  { apply (is_RInt_antiderivative (fun s => exp (s * x) * g s)).
    - intros s. apply (is_derive_eq _ _ (x * exp (s * x) * g s + exp (s * x) * dg s)); [|ring].
      apply (is_derive_mult_R (fun s => exp (s * x)) g); [|apply D].
      deriv.
    - cts.
    - rewrite Rmult_1_l, Rmult_0_l, exp_0. ring. }
  rewrite <- (is_RInt_value _ _ _ _ I).
  pose proof (is_RInt_plus_R _ _ _ _ _ _
    (is_RInt_scal_R _ _ _ x _ (is_RInt_expint g x G)) (is_RInt_expint dg x C)) as J.
  rewrite (is_RInt_value _ _ _ _ J). ring.
Qed.

(** s -> 1 - s. *)
Lemma expint_reflect g x : cts g -> expint g x = exp x * expint (fun s => g (1 - s)) (- x).
Proof.
  intros G. unfold expint.
  pose proof (RInt_affine (fun s => exp (s * x) * g s) (-1) 1 1 0 ltac:(cts)) as A.
  replace (-1 * 1 + 1) with 0 in A by ring. replace (-1 * 0 + 1) with 1 in A by ring.
  rewrite <- A. clear A.
  assert (C : cts (fun s => g (1 - s))) by (apply (cts_comp g (fun s => 1 - s)); [exact G | cts]).
  rewrite <- (RInt_scal_R _ 0 1 (exp x)) by cts.
  assert (S : forall f, cts f -> RInt f 1 0 = - RInt f 0 1).
  { intros f F. pose proof (RInt_Chasles_R f 0 1 0 F) as H. rewrite RInt_point_R in H. lra. }
  rewrite S.
  2:{ apply (cts_comp (fun s => exp (s * x) * g s) (fun r => -1 * r + 1)); cts. }
  ring_simplify. apply RInt_ext_R. intros s.
  replace (-1 * s + 1) with (1 - s) by ring.
  replace ((1 - s) * x) with (x + s * - x) by ring. rewrite exp_plus. ring.
Qed.

(** ** The four functions, as integrals: equation (6) *)

Definition phi1 (x : R) : R := RInt (fun s => exp (s * x)) 0 1.
Definition phi2 (x : R) : R := RInt (fun s => exp (s * x) * (1 - s)) 0 1.
Definition phi3 (x : R) : R := RInt (fun s => exp (s * x) * ((1 - s) ^ 2 / 2)) 0 1.
Definition psi (x : R) : R := RInt (fun s => exp (s * x) * (s * (1 - s))) 0 1.

Lemma phi1_expint x : phi1 x = expint (fun _ => 1) x.
Proof. apply RInt_ext_R. intros s. ring. Qed.
Lemma phi2_expint x : phi2 x = expint (fun s => 1 - s) x.
Proof. reflexivity. Qed.
Lemma phi3_expint x : phi3 x = expint (fun s => (1 - s) ^ 2 / 2) x.
Proof. reflexivity. Qed.
Lemma psi_expint x : psi x = expint (fun s => s * (1 - s)) x.
Proof. reflexivity. Qed.

(** The weights are continuous. *)
Lemma cts_w1 : cts (fun _ => 1).  Proof. cts. Qed.
Lemma cts_w2 : cts (fun s => 1 - s).  Proof. cts. Qed.
Lemma cts_w3 : cts (fun s => (1 - s) ^ 2 / 2).  Proof. cts. Qed.
Lemma cts_wpsi : cts (fun s => s * (1 - s)).  Proof. cts. Qed.
Lemma cts_ws : cts (fun s => s).  Proof. cts. Qed.

(** ** Recurrence: phi_k(x) = x phi_{k+1}(x) + 1/k! *)

(** [(6)] e^x = x phi1(x) + 1, for every x. *)
Theorem phi1_recurrence x : exp x = x * phi1 x + 1.
Proof.
  rewrite phi1_expint, (expint_parts (fun _ => 1) (fun _ => 0) x).
  2:{ intros s. apply is_derive_const_R. }
  2:{ cts. }
  replace (expint (fun _ => 0) x) with 0; [ring|].
  symmetry. apply is_RInt_value. apply (is_RInt_ext_R (fun _ => 0)); [intros; ring|].
  apply (is_RInt_eq _ _ _ _ _ (is_RInt_const_R 0 1 0)). ring.
Qed.

(** [(6)] phi1(x) = x phi2(x) + 1, for every x. *)
Theorem phi2_recurrence x : phi1 x = x * phi2 x + 1.
Proof.
  pose proof (expint_parts (fun s => 1 - s) (fun _ => -1) x) as P.
  rewrite phi2_expint, P.
  - replace (expint (fun _ => -1) x) with (- phi1 x); [ring|].
    rewrite phi1_expint, (expint_ext (fun _ => -1) (fun s => -1 * 1 + 0 * 1)) by (intros; ring).
    rewrite (expint_lin (fun _ => 1) (fun _ => 1)) by cts. ring.
  - intros s. deriv.
  - cts.
Qed.

(** [phi] phi2(x) = x phi3(x) + 1/2, for every x. *)
Theorem phi3_recurrence x : phi2 x = x * phi3 x + 1 / 2.
Proof.
  pose proof (expint_parts (fun s => (1 - s) ^ 2 / 2) (fun s => -1 * (1 - s) + 0 * 1) x) as P.
  rewrite phi3_expint, P.
  - rewrite (expint_lin (fun s => 1 - s) (fun _ => 1)) by cts. rewrite phi2_expint. field.
  - intros s. deriv.
  - cts.
Qed.

(** [phi] psi(x) = phi2(x) - 2 phi3(x), for every x. *)
Theorem psi_phi x : psi x = phi2 x - 2 * phi3 x.
Proof.
  rewrite psi_expint, phi2_expint, phi3_expint.
  rewrite (expint_ext (fun s => s * (1 - s))
    (fun s => 1 * (1 - s) + -2 * ((1 - s) ^ 2 / 2))) by (intros; field).
  rewrite (expint_lin (fun s => 1 - s) (fun s => (1 - s) ^ 2 / 2)) by cts. ring.
Qed.

(** ** Closed forms away from 0: equation (6) *)

(** [(6)] phi1(x) = (e^x - 1) / x for x <> 0. *)
Theorem phi1_closed x : x <> 0 -> phi1 x = (exp x - 1) / x.
Proof. intros N. rewrite phi1_recurrence. now field. Qed.

(** [(6)] phi2(x) = (e^x - 1 - x) / x^2 for x <> 0. *)
Theorem phi2_closed x : x <> 0 -> phi2 x = (exp x - 1 - x) / x ^ 2.
Proof. intros N. rewrite phi1_recurrence, phi2_recurrence. now field. Qed.

(** [phi] phi3(x) = (e^x - 1 - x - x^2/2) / x^3 for x <> 0. *)
Theorem phi3_closed x : x <> 0 -> phi3 x = (exp x - 1 - x - x ^ 2 / 2) / x ^ 3.
Proof. intros N. rewrite phi1_recurrence, phi2_recurrence, phi3_recurrence. now field. Qed.

(** [phi] psi(x) = (e^x (x - 2) + x + 2) / x^3 for x <> 0. *)
Theorem psi_closed x : x <> 0 -> psi x = (exp x * (x - 2) + x + 2) / x ^ 3.
Proof. intros N. rewrite psi_phi, phi2_closed, phi3_closed by exact N. now field. Qed.

(** ** Values at 0: equation (6) *)

Lemma expint_0 (g G : R -> R) : (forall s, is_derive G s (g s)) -> cts g -> expint g 0 = G 1 - G 0.
Proof.
  intros D C. apply is_RInt_value. apply (is_RInt_ext_R g).
  - intros s _. rewrite Rmult_0_r, exp_0. ring.
  - now apply (is_RInt_antiderivative G).
Qed.

(** [(6)] phi1(0) = 1. *)
Theorem phi1_0 : phi1 0 = 1.
Proof.
  rewrite phi1_expint, (expint_0 _ (fun s => s)); [ring | | cts].
  intros s. deriv.
Qed.

(** [(6)] phi2(0) = 1/2. *)
Theorem phi2_0 : phi2 0 = 1 / 2.
Proof.
  rewrite phi2_expint, (expint_0 _ (fun s => s - s ^ 2 / 2)); [field | | cts].
  intros s. deriv.
Qed.

(** [phi] phi3(0) = 1/6. *)
Theorem phi3_0 : phi3 0 = 1 / 6.
Proof.
  rewrite phi3_expint, (expint_0 _ (fun s => - (1 - s) ^ 3 / 6)); [field | | cts].
  intros s. deriv.
Qed.

(** [phi] psi(0) = 1/6. *)
Theorem psi_0 : psi 0 = 1 / 6.
Proof. rewrite psi_phi, phi2_0, phi3_0. field. Qed.

(** ** Derivatives, at every x *)

(** [phi] phi1' = phi1 - phi2 at every x. *)
Theorem phi1_derive x : is_derive phi1 x (phi1 x - phi2 x).
Proof.
  apply (is_derive_ext_R (expint (fun _ => 1))); [intros; now rewrite phi1_expint|].
  apply (is_derive_eq _ _ _ _ (expint_derive _ x cts_w1)).
  rewrite (expint_ext _ (fun s => 1 * 1 + -1 * (1 - s))) by (intros; ring).
  rewrite (expint_lin (fun _ => 1) (fun s => 1 - s)) by cts.
  rewrite <- phi1_expint, <- phi2_expint. ring.
Qed.

(** [phi] phi2' = psi at every x. *)
Theorem phi2_derive x : is_derive phi2 x (psi x).
Proof. exact (expint_derive _ x cts_w2). Qed.

(** [phi] phi3' = phi3 - 3 phi4 at every x, where phi4 is the integral with weight (1-s)^3/6.
    *)
Theorem phi3_derive x : is_derive phi3 x (phi3 x - 3 * expint (fun s => (1 - s) ^ 3 / 6) x).
Proof.
  apply (is_derive_eq _ _ _ _ (expint_derive _ x cts_w3)).
  rewrite (expint_ext _ (fun s => 1 * ((1 - s) ^ 2 / 2) + -3 * ((1 - s) ^ 3 / 6)))
    by (intros; field).
  rewrite (expint_lin (fun s => (1 - s) ^ 2 / 2) (fun s => (1 - s) ^ 3 / 6)) by cts.
  rewrite <- phi3_expint. ring.
Qed.

(** [phi] x phi2'(x) = phi1(x) - 2 phi2(x): the derivative of phi2 without an integral. *)
Theorem phi2_derive_closed x : x * psi x = phi1 x - 2 * phi2 x.
Proof. rewrite psi_phi, phi2_recurrence, phi3_recurrence. field. Qed.

(** [phi] psi' is the integral with weight s^2 (1-s), at every x. *)
Theorem psi_derive x : is_derive psi x (expint (fun s => s * (s * (1 - s))) x).
Proof. exact (expint_derive _ x cts_wpsi). Qed.

(** ** Limits at 0: the closed forms tend to the values above, equation (6) *)

(** [(6)] (e^x - 1) / x tends to 1 at 0. *)
Theorem phi1_lim : is_lim (fun x => (exp x - 1) / x) 0 1.
Proof.
  apply (is_lim_ext_loc phi1).
  - exists (mkposreal 1 Rlt_0_1). intros y _ N. now apply phi1_closed.
  - rewrite <- phi1_0. exact (is_lim_of_derive phi1 0 _ (phi1_derive 0)).
Qed.

(** [(6)] (e^x - 1 - x) / x^2 tends to 1/2 at 0. *)
Theorem phi2_lim : is_lim (fun x => (exp x - 1 - x) / x ^ 2) 0 (1 / 2).
Proof.
  apply (is_lim_ext_loc phi2).
  - exists (mkposreal 1 Rlt_0_1). intros y _ N. now apply phi2_closed.
  - rewrite <- phi2_0. exact (is_lim_of_derive phi2 0 _ (phi2_derive 0)).
Qed.

(** [phi] (e^x - 1 - x - x^2/2) / x^3 tends to 1/6 at 0. *)
Theorem phi3_lim : is_lim (fun x => (exp x - 1 - x - x ^ 2 / 2) / x ^ 3) 0 (1 / 6).
Proof.
  apply (is_lim_ext_loc phi3).
  - exists (mkposreal 1 Rlt_0_1). intros y _ N. now apply phi3_closed.
  - rewrite <- phi3_0. exact (is_lim_of_derive phi3 0 _ (phi3_derive 0)).
Qed.

(** [phi] (e^x (x - 2) + x + 2) / x^3 tends to 1/6 at 0. *)
Theorem psi_lim : is_lim (fun x => (exp x * (x - 2) + x + 2) / x ^ 3) 0 (1 / 6).
Proof.
  apply (is_lim_ext_loc psi).
  - exists (mkposreal 1 Rlt_0_1). intros y _ N. now apply psi_closed.
  - rewrite <- psi_0. exact (is_lim_of_derive psi 0 _ (psi_derive 0)).
Qed.

(** ** Positive and strictly increasing on the whole line *)

Lemma w3_pos s : 0 < s < 1 -> 0 < (1 - s) ^ 2 / 2.
Proof. intros H. assert (0 < (1 - s) ^ 2) by (apply pow_lt; lra). lra. Qed.
Lemma wpsi_pos s : 0 < s < 1 -> 0 < s * (1 - s).
Proof. intros H. apply Rmult_lt_0_compat; lra. Qed.

(** [(6)] phi1 > 0 on the whole line. *)
Theorem phi1_pos x : 0 < phi1 x.
Proof. rewrite phi1_expint. apply expint_pos; [cts | intros; lra]. Qed.

(** [(6)] phi2 > 0 on the whole line, so the logarithms in (10) exist. *)
Theorem phi2_pos x : 0 < phi2 x.
Proof. apply expint_pos; [apply cts_w2 | intros; lra]. Qed.

(** [phi] phi3 > 0 on the whole line. *)
Theorem phi3_pos x : 0 < phi3 x.
Proof. apply expint_pos; [apply cts_w3 | exact w3_pos]. Qed.

(** [phi] psi > 0 on the whole line. *)
Theorem psi_pos x : 0 < psi x.
Proof. apply expint_pos; [apply cts_wpsi | exact wpsi_pos]. Qed.

(** [phi] phi1 is strictly increasing. *)
Theorem phi1_increasing x y : x < y -> phi1 x < phi1 y.
Proof. rewrite !phi1_expint. apply expint_increasing; [cts | intros; lra]. Qed.

(** [phi] phi2 is strictly increasing. *)
Theorem phi2_increasing x y : x < y -> phi2 x < phi2 y.
Proof. apply expint_increasing; [apply cts_w2 | intros; lra]. Qed.

(** [phi] phi3 is strictly increasing. *)
Theorem phi3_increasing x y : x < y -> phi3 x < phi3 y.
Proof. apply expint_increasing; [apply cts_w3 | exact w3_pos]. Qed.

(** [phi] psi is strictly increasing. *)
Theorem psi_increasing x y : x < y -> psi x < psi y.
Proof. apply expint_increasing; [apply cts_wpsi | exact wpsi_pos]. Qed.

(** ** The identity behind the rearrangement: equation (7), for every x *)

(** The weight s, the mirror image of the weight 1 - s. *)
Lemma expint_s x : expint (fun s => s) x = exp x * phi2 (- x).
Proof. rewrite (expint_reflect _ x cts_ws). reflexivity. Qed.

(** [(7)] phi1(x) - phi2(x) = e^x phi2(-x), for every x. *)
Theorem eq7 x : phi1 x - phi2 x = exp x * phi2 (- x).
Proof.
  rewrite <- expint_s, phi1_expint, phi2_expint.
  rewrite (expint_ext (fun s => s) (fun s => 1 * 1 + -1 * (1 - s))) by (intros; ring).
  rewrite (expint_lin (fun _ => 1) (fun s => 1 - s)) by cts. ring.
Qed.

(** [phi] phi1(x) = e^x phi1(-x): the mass of a segment is the same from both ends. *)
Theorem phi1_reflect x : phi1 x = exp x * phi1 (- x).
Proof. rewrite !phi1_expint. exact (expint_reflect _ x cts_w1). Qed.

(** [phi] psi(x) = e^x psi(-x): the coupling of a segment is the same from both ends. *)
Theorem psi_reflect x : psi x = exp x * psi (- x).
Proof.
  rewrite !psi_expint, (expint_reflect _ x cts_wpsi). f_equal.
  apply expint_ext. intros s. ring.
Qed.

(** [(7)] phi1(x) = phi2(x) + e^x phi2(-x): the mass is the sum of the two shares. *)
Theorem phi1_shares x : phi1 x = phi2 x + exp x * phi2 (- x).
Proof. rewrite <- eq7. ring. Qed.
