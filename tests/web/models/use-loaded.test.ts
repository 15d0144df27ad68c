import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { h, render } from 'preact';
import { type Loaded, useLoaded } from '../../../web/src/ui/loading.ts';

/** A component that renders nothing needs no more of the DOM than this. */
const container = { nodeType: 1, childNodes: [], firstChild: null } as unknown as Element;

describe('A value that a component loads', () => {
  before(() => {
    Object.assign(globalThis, { document: {} });
  });
  after(() => {
    Reflect.deleteProperty(globalThis, 'document');
  });

  it('is never the value of the previous inputs', async () => {
    const rendered: [input: string, state: string][] = [];
    const ready = { a: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() };
    function Reader({ input }: { input: 'a' | 'b' }) {
      const loaded: Loaded<string> = useLoaded(async () => input.toUpperCase(), [input]);
      rendered.push([input, loaded.state === 'ready' ? loaded.value : loaded.state]);
      if (loaded.state === 'ready') ready[input].resolve();
      return null;
    }
    for (const input of ['a', 'b'] as const) {
      render(h(Reader, { input }), container);
      await ready[input].promise;
    }
    assert.deepEqual(rendered, [
      ['a', 'loading'],
      ['a', 'A'],
      ['b', 'loading'],
      ['b', 'B'],
    ]);
  });
});
