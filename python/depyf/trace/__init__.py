"""What torch's structured trace and its log say of a compile, read into the model; no torch is
needed.

Live capture (`depyf.torch.capture`) and the reader of TORCH_TRACE's logs (`depyf.report.tracelog`)
hand the same records to `records.Records`.
"""
