// SPDX-License-Identifier: Apache-2.0
// A channel in Vala: a thread sends values, and the loop receives them.
const string MODE = "channel";

int main () {
    unowned var loop = GRun.Loop.get_current ();
    var channel = new GRun.Channel.for_values (8, (value) => print ("undelivered %s\n", value.get_string ()));
    channel.receive_values (loop, MODE, (value) => {
        print ("came %s %s\n", value.type_name (), value.strdup_contents ());
    });
    var thread = new Thread<int> ("sender", () => {
        Value[] values = { 1, 1.5, "text", true };
        foreach (var value in values)
            assert (channel.send_value (value) == GRun.SendResult.ENQUEUED);
        channel.close ();
        return 0;
    });
    thread.join ();
    assert (loop.run_in_mode (MODE, 60, false) == GRun.Result.FINISHED);
    assert (channel.send_value ("late") == GRun.SendResult.CLOSED);
    var unused = new GRun.Channel.for_values (1, (value) => print ("undelivered %s\n", value.get_string ()));
    assert (unused.send_value ("nobody's") == GRun.SendResult.ENQUEUED);
    assert (unused.send_value ("more") == GRun.SendResult.FULL);
    unused.invalidate ();
    var id = loop.perform_after (3600, MODE, () => print ("too late\n"));
    print ("%s %s\n", loop.cancel_perform (id).to_string (), loop.cancel_perform (id).to_string ());
    return 0;
}
