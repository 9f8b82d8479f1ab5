# %% [markdown]
# # Review
#
# There are three questions per lesson. They ask what you should know by heart, what's easily confused, and
# sometimes what helps when your own model doesn't work. Questions on five lessons take **about 15 minutes**.
# Every option explains why it's right or wrong, and the heading tells you which lesson to return to. In the
# table of progress, row 10 counts these questions too.

# %%
from helpers import exercises

# %% [markdown] tags=["notes"]
# **About 50 minutes** alone for all of them, or ten questions in 15 minutes by show of hands. **If you're
# running late**, take one question per lesson.

# %% [markdown]
# ## 01 Sequence to sequence

# %%
exercises.quiz("review_bottleneck", "review_path_convolution", "review_teacher_forcing")

# %% [markdown]
# ## 02 Bahdanau attention

# %%
exercises.quiz("review_bahdanau_inputs", "review_cost_of_cross", "review_alignment")

# %% [markdown]
# ## 03 Self-attention with vectors

# %%
exercises.quiz("review_diagonal", "review_what_is_mixed", "review_temperature")

# %% [markdown]
# ## 04 Self-attention with matrices

# %%
exercises.quiz("review_root", "review_mask_place", "review_cheaper")

# %% [markdown]
# ## 05 Positional encoding

# %%
exercises.quiz("review_no_positions", "review_shift_rotation", "review_bert_positions")

# %% [markdown]
# ## 06 Multi-head attention

# %%
exercises.quiz("review_heads_parameters", "review_whole_vector", "review_explanation")

# %% [markdown]
# ## 07 Encoder and decoder

# %%
exercises.quiz("review_post_norm", "review_memory", "review_norm_axis")

# %% [markdown]
# ## 08 Decoding

# %%
exercises.quiz("review_shift_and_mask", "review_cache", "review_length_penalty")

# %% [markdown]
# ## 09 Loss and training

# %%
exercises.quiz("review_log_v", "review_padding_loss", "review_schedule")

# %% [markdown]
# ## 10 Build a Transformer

# %%
exercises.quiz("review_first_bug", "review_weights_fit", "review_classifier")

# %% [markdown]
# ## 11 Tokenizers

# %%
exercises.quiz("review_next_merge", "review_masked_positions", "review_unknown_token")

# %% [markdown]
# ## 12 BERT

# %%
exercises.quiz("review_masked_training", "review_lora_parameters", "review_frozen_or_tuned")

# %% [markdown]
# ## 13 Find it, then point at it

# %%
exercises.quiz("review_recall", "review_two_ends", "review_offsets")

# %% [markdown]
# ## 14 GPT

# %%
exercises.quiz("review_gpt_parts", "review_gpt_layer", "review_gpt_average")

# %% [markdown]
# ## 15 Vision Transformer

# %%
exercises.quiz("review_patches", "review_set_of_patches", "review_control")

# %% [markdown]
# ## 16 Long context

# %%
exercises.quiz("review_window_reach", "review_exact_or_not", "review_state_or_cache")

# %% [markdown]
# ## 17 Hear the genre

# %%
exercises.quiz("review_windows_on_both_sides", "review_time_of_a_stroke", "review_balanced_half")

# %% [markdown]
# ## 18 From GPT to assistant

# %%
exercises.quiz("review_chat_memory", "review_masked_prompt", "review_dpo_reference")

# %% [markdown]
# ## 19 A real model

# %%
exercises.quiz("review_grouped_cache", "review_low_loss_wrong_part", "review_wrong_examples_help")

# %% [markdown]
# ## 20 Look inside

# %%
exercises.quiz("review_head_off_control", "review_patch_place", "review_sink_moves")

# %% [markdown]
# ## How far you are

# %% tags=["nbval-ignore-output"]
exercises.progress()
