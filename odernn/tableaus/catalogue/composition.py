"""Compositions Φ_{γ_s h} ∘ … ∘ Φ_{γ_1 h} of a symmetric method of order 2, here of Störmer–Verlet.

The sequences are symmetric; any other symmetric method of order 2 may take the base's place.
"""

from __future__ import annotations

from odernn.published.sources import Source
from odernn.tableaus.catalogue.symplectic import STOERMER_VERLET
from odernn.tableaus.tableau import Composition

# Where a middle step is one less the others, ``digits`` is less than printed by one, for it adds up their errors.

# fmt: off
# The triple jump.
YOSHIDA_4 = Composition(
    name="yoshida 4", source=Source("hairer2006", "Example II.4.2"), order=4, base=STOERMER_VERLET,
    gammas=["1/(2 - cbrt(2))", "-cbrt(2)/(2 - cbrt(2))", "1/(2 - cbrt(2))"])

SUZUKI_4 = Composition(
    name="suzuki 4", source=Source("hairer2006", "Example II.4.3"), order=4, base=STOERMER_VERLET,
    gammas=["1/(4 - cbrt(4))", "1/(4 - cbrt(4))", "-cbrt(4)/(4 - cbrt(4))", "1/(4 - cbrt(4))", "1/(4 - cbrt(4))"])

MCLACHLAN_SS_4 = Composition(
    name="mclachlan ss 4", source=Source("mclachlan1995", "pp. 151–168"), order=4, base=STOERMER_VERLET, digits=19,
    gammas=["0.28",
            "0.62546642846767004501",
            "1 - 2*(0.28 + 0.62546642846767004501)",
            "0.62546642846767004501",
            "0.28"])

# Solution A of Yoshida 1990, with more digits.
YOSHIDA_6 = Composition(
    name="yoshida 6", source=Source("hairer2006", "eq. (V.3.11)"), order=6, base=STOERMER_VERLET, digits=26,
    gammas=[ "0.78451361047755726381949763",
             "0.23557321335935813368479318",
            "-1.17767998417887100694641568",
             "1.31518632068391121888424973",
            "-1.17767998417887100694641568",
             "0.23557321335935813368479318",
             "0.78451361047755726381949763"])

KAHAN_LI_6 = Composition(
    name="kahan li 6", source=Source("hairer2006", "eq. (V.3.12)"), order=6, base=STOERMER_VERLET, digits=26,
    gammas=[ "0.39216144400731413927925056",
             "0.33259913678935943859974864",
            "-0.70624617255763935980996482",
             "0.08221359629355080023149045",
             "0.79854399093482996339895035",
             "0.08221359629355080023149045",
            "-0.70624617255763935980996482",
             "0.33259913678935943859974864",
             "0.39216144400731413927925056"])

YOSHIDA_8 = Composition(
    name="yoshida 8", source=Source("yoshida1990", "Table 2, solution D"), order=8, base=STOERMER_VERLET, digits=13,
    gammas=[ "0.914844246229740",
             "0.253693336566229",
            "-1.44485223686048",
            "-0.158240635368243",
             "1.93813913762276",
            "-1.96061023297549",
             "0.102799849391985",
             "1 - 2*(0.102799849391985 - 1.96061023297549 + 1.93813913762276 - 0.158240635368243"
             "       - 1.44485223686048 + 0.253693336566229 + 0.914844246229740)",
             "0.102799849391985",
            "-1.96061023297549",
             "1.93813913762276",
            "-0.158240635368243",
            "-1.44485223686048",
             "0.253693336566229",
             "0.914844246229740"])

SUZUKI_UMENO_8 = Composition(
    name="suzuki umeno 8", source=Source("hairer2006", "eq. (V.3.13)"), order=8, base=STOERMER_VERLET, digits=26,
    gammas=[ "0.74167036435061295344822780",
            "-0.40910082580003159399730010",
             "0.19075471029623837995387626",
            "-0.57386247111608226665638773",
             "0.29906418130365592384446354",
             "0.33462491824529818378495798",
             "0.31529309239676659663205666",
            "-0.79688793935291635401978884",
             "0.31529309239676659663205666",
             "0.33462491824529818378495798",
             "0.29906418130365592384446354",
            "-0.57386247111608226665638773",
             "0.19075471029623837995387626",
            "-0.40910082580003159399730010",
             "0.74167036435061295344822780"])

KAHAN_LI_8 = Composition(
    name="kahan li 8", source=Source("hairer2006", "eq. (V.3.14)"), order=8, base=STOERMER_VERLET, digits=26,
    gammas=[ "0.13020248308889008087881763",
             "0.56116298177510838456196441",
            "-0.38947496264484728640807860",
             "0.15884190655515560089621075",
            "-0.39590389413323757733623154",
             "0.18453964097831570709183254",
             "0.25837438768632204729397911",
             "0.29501172360931029887096624",
            "-0.60550853383003451169892108",
             "0.29501172360931029887096624",
             "0.25837438768632204729397911",
             "0.18453964097831570709183254",
            "-0.39590389413323757733623154",
             "0.15884190655515560089621075",
            "-0.38947496264484728640807860",
             "0.56116298177510838456196441",
             "0.13020248308889008087881763"])
