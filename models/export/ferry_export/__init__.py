"""Writes model folders for Ferry from Python modules; scripts/export.sh runs it.

    command.py    the command line, checked without torch
    tensors.py    names, types and sizes of what a model takes and gives
    sources.py    a module from an import path or a file, and its weights
    samples.py    rows to export and check with
    interface.py  what forward() takes and gives, found by calling it
    torch_script.py, aoti_package.py, int8.py    the module as a file
    model_folder.py    config.pbtxt and the folder
    served_check.py    the folder served, against the module in fp32

Errors: ExportError, a sentence for people; __main__.py prints it and exits 1.
"""
