"""The catalogue: a page and an endpoint for every quantity and every run, their indexes, and the data as downloads.

Everything in it is made from the data and from what pages use, by the end of a build. It takes part in no page's text.
"""
