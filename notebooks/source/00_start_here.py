# %% [markdown]
# # Start here
#
# A placeholder until the lesson is written.

# %% tags=["set-up"]
from helpers import notebook  # the build puts the whole set-up cell in this place

notebook.set_up()

# %% tags=["nbval-ignore-output"]
notebook.check_installation()

# %% tags=["hide-input"]
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(3, 2))
ax.plot([0, 1, 4, 9])
notebook.figure(fig, alt="A line that climbs ever more steeply.")

# %% [markdown] tags=["notes"]
# Two minutes. Ask who has seen an attention map before.
