"""What kind of relation holds between A and B at time t, and why?"""
