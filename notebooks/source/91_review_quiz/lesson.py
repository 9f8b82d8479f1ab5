# %% [markdown]
# # Review
#
# There are three questions per lesson. They ask what you should know by heart, what's easily confused, and
# sometimes what helps when your own model doesn't work. Questions on five lessons take **10 to 15 minutes**.
# Every option explains why it's right or wrong, and the heading tells you which lesson to return to. The
# table of progress counts these questions in a row of their own, 91.

# %%
from helpers import exercises

# %% [markdown] tags=["notes"]
# **40 to 60 minutes** alone for all of them, or ten questions in 15 minutes by show of hands. **If you're
# running late**, take one question per lesson.

# %% [markdown] quiz="review_bottleneck review_path_convolution review_teacher_forcing"
# ## 01 Sequence to sequence

# %% [markdown] quiz="review_bahdanau_inputs review_cost_of_cross review_alignment"
# ## 02 Bahdanau attention

# %% [markdown] quiz="review_diagonal review_what_is_mixed review_temperature"
# ## 03 Self-attention with vectors

# %% [markdown] quiz="review_root review_mask_place review_cheaper"
# ## 04 Self-attention with matrices

# %% [markdown] quiz="review_no_positions review_shift_rotation review_bert_positions"
# ## 05 Positional encoding

# %% [markdown] quiz="review_heads_parameters review_whole_vector review_explanation"
# ## 06 Multi-head attention

# %% [markdown] quiz="review_post_norm review_memory review_norm_axis"
# ## 07 Encoder and decoder

# %% [markdown] quiz="review_shift_and_mask review_cache review_length_penalty"
# ## 08 Decoding

# %% [markdown] quiz="review_log_v review_padding_loss review_schedule"
# ## 09 Loss and training

# %% [markdown] quiz="review_first_bug review_weights_fit review_classifier"
# ## 10 Build a Transformer

# %% [markdown] quiz="review_next_merge review_masked_positions review_unknown_token"
# ## 11 Tokenizers

# %% [markdown] quiz="review_masked_training review_lora_parameters review_frozen_or_tuned"
# ## 12 BERT

# %% [markdown] quiz="review_recall review_two_ends review_offsets"
# ## 13 Find it, then point at it

# %% [markdown] quiz="review_gpt_parts review_gpt_layer review_gpt_average"
# ## 14 GPT

# %% [markdown] quiz="review_patches review_set_of_patches review_control"
# ## 15 Vision Transformer

# %% [markdown] quiz="review_window_reach review_exact_or_not review_state_or_cache"
# ## 16 Long context

# %% [markdown] quiz="review_windows_on_both_sides review_time_of_a_stroke review_balanced_half"
# ## 17 Hear the genre

# %% [markdown] quiz="review_chat_memory review_masked_prompt review_dpo_reference"
# ## 18 From GPT to assistant

# %% [markdown] quiz="review_grouped_cache review_low_loss_wrong_part review_wrong_examples_help"
# ## 19 A real model

# %% [markdown] quiz="review_head_off_control review_patch_place review_sink_moves"
# ## 20 Look inside

# %% [markdown]
# ## How far you are

# %% tags=["nbval-ignore-output"]
exercises.progress()
