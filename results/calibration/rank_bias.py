#!/usr/bin/python3
"""rank_bias.py: what normal scores lose of the mutual information of a pair of normal columns, by simulation; printed beside the formula of blur_of_ranks() in src/study/study.c."""
import numpy as np
from statistics import NormalDist
nd=NormalDist()
rng=np.random.default_rng(0)
for n in (200,1000,4000,20000):
    sc=np.array([nd.inv_cdf((i+.5)/n) for i in range(n)])
    for mi in (.2,1,1.667,3):
        rho=np.sqrt(1-np.exp(-2*mi))
        e, p = [], []
        for s in range(max(20,min(400,400000//n))):
            u=rng.standard_normal(n); v=rho*u+np.sqrt(1-rho**2)*rng.standard_normal(n)
            su=np.empty(n);su[np.argsort(u)]=sc;sv=np.empty(n);sv[np.argsort(v)]=sc
            e.append(-.5*np.log(1-np.corrcoef(su,sv)[0,1]**2)); p.append(-.5*np.log(1-np.corrcoef(u,v)[0,1]**2))
        print(f"n {n}, {mi} nats: lost {mi - np.mean(e):.4f} +- {np.std(e) / len(e) ** .5:.4f}, formula {.0027 * np.exp(1.07 * mi) * (n / 1000) ** -.75:.4f}; without ranks {mi - np.mean(p):.4f}")
