import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import * as fc from 'fast-check';
import { assertSuccess, type HttpResponse, jsonOf } from '../http/client.ts';
import { tries } from '../seeds.ts';
import { applyEffect, type Tree } from './acknowledged.ts';
import { assertCommonHeaders, assertEnvelope } from './document.ts';
import { almostValidForm, chunked, FILE, type Form, headOf, PREFIX, validForm } from './forms.ts';
import { shareOnDisk, startInMemory, type Target } from './target.ts';
import { exchange } from './wire.ts';

const INITIAL: Tree = { 'a.txt': 'a', 'f/': null, 'f/b.txt': 'b' };

test('rejects a request truncated at any position and stores nothing', async () => {
  const target = await shareOnDisk();
  await target.restore(INITIAL);
  const body = `--b\r\n${FILE}\r\n\r\nnew\r\n--b\r\n${PREFIX}\r\n\r\nf\r\n--b--\r\n`;
  const form = { parameters: '; boundary=b', body };
  const inChunks = headOf(form, 'Transfer-Encoding: chunked') + chunked(body, 9);
  for (const whole of [headOf(form) + body, inChunks]) {
    // tests/http/protocol/upload.test.ts cuts a form at every end.
    const step = whole === inChunks ? 5 : 2;
    for (let end = 0; end < whole.length; end += 20 * step) {
      const all = Array.from({ length: 20 }, (_, index) => end + index * step);
      const ends = all.filter((each) => each < whole.length);
      const responses = await Promise.all(
        ends.map((each) => exchange(target.port, whole.slice(0, each), { ends: true })),
      );
      for (const [index, some] of responses.entries()) {
        const at = ends[index];
        assert.deepEqual(
          some.map(({ status }) => status),
          at === 0 ? [] : [400],
          `Cut at ${at} of ${JSON.stringify(whole)}`,
        );
        for (const response of some) assertEnvelope(response);
      }
      assert.deepEqual(
        await target.tree(),
        INITIAL,
        `Cut between ${end} and ${ends.at(-1)} of ${JSON.stringify(whole)}`,
      );
    }
    assert.deepEqual(
      (await exchange(target.port, whole)).map(({ status }) => status),
      [200],
    );
    await target.restore(INITIAL);
  }
  await target.assertHealthy();
});

test('stores the exact bytes of any valid form', async (t) => {
  const target = await shareOnDisk();
  const size = fc.option(fc.integer({ min: 1, max: 40_000 }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(validForm, size, async (form, chunk) => {
      await target.restore(INITIAL);
      const bytes =
        chunk === undefined || form.body.length / chunk > 5000
          ? headOf(form) + form.body
          : headOf(form, 'Transfer-Encoding: chunked') + chunked(form.body, chunk);
      const [response, ...others] = await exchange(target.port, bytes);
      assert.ok(response);
      assertSuccess(response, { message: 'File uploaded successfully', path: form.path });
      assert.deepEqual(others, []);
      const text = form.content.length > 64 * 1024 ? `${form.content.length} bytes` : form.content;
      assert.deepEqual(await target.tree(), applyEffect(INITIAL, { does: 'store', path: form.path, text }));
    }),
    tries(t, 12),
  );
  await target.assertHealthy();
});

test('rejects an almost valid form or stores what the response reports', async (t) => {
  await fuzzForms(t, await startInMemory(t), 20);
});

async function fuzzForms(t: TestContext, target: Target, runs: number): Promise<void> {
  let stored = 0;
  await fc.assert(
    fc.asyncProperty(almostValidForm, async (sent) => {
      await target.restore(INITIAL);
      const responses = await exchange(target.port, headOf(sent) + sent.body);
      const [response] = responses;
      assert.ok(response && responses.length === 1, `${responses.length} responses`);
      assertCommonHeaders(response);
      const tree = await target.tree();
      if (response.status !== 200) {
        assert.ok(response.status < 500, String(response.status));
        assertEnvelope(response);
        return assert.deepEqual(tree, INITIAL, 'A refused form changes nothing.');
      }
      stored++;
      return assertStored(tree, response, sent);
    }),
    tries(t, runs),
  );
  assert.ok(stored > runs / 20, `Only ${stored} of ${runs} forms were valid.`);
  await target.assertHealthy();
}

/** Asserts that the store has the file in the response, with bytes of the request, and no other change. */
function assertStored(tree: Tree, response: HttpResponse, { body }: Form): void {
  const path = String(jsonOf(response)['path']);
  const text = tree[path];
  assert.ok(typeof text === 'string' && body.includes(text), `${path} holds ${JSON.stringify(text)}.`);
  assert.deepEqual(tree, applyEffect(INITIAL, { does: 'store', path, text }));
}
