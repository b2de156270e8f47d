SELECT T1.name, T2.rain FROM teacher AS T1 JOIN weather AS T2
