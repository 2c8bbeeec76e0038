# What is raised behind a for that never comes around is named nowhere.
with x:
    raise V
for y in x:
    break
else:
    raise V
raise E
