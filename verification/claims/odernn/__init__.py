"""Statements of Niu, Chuang and Horesh 2019 about recurrent networks as Runge–Kutta methods."""
