import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConflictDecision, ConflictQueue } from '../../../web/src/model/name-conflicts.ts';
import type { ConflictAnswer, ItemKind } from '../../../web/src/model/prompts.ts';

const FILES = { incoming: 'file', existing: 'file' } as const;

describe('The conflict queue', () => {
  it('shows one dialog at a time, in the order of the conflicts', async () => {
    const queue = new ConflictQueue();
    const batch = {};
    const answers: ((answer: ConflictAnswer) => void)[] = [];
    const decisions: ConflictDecision[] = [];
    const decide = async () => {
      const ask = () => new Promise<ConflictAnswer>((resolve) => answers.push(resolve));
      decisions.push(await queue.decide({ batch, findKinds: () => FILES, ask }));
    };
    const both = [decide(), decide()];
    await nextTick();
    assert.equal(answers.length, 1);
    answers[0]?.({ decision: 'skip', forAll: false });
    await nextTick();
    assert.equal(answers.length, 2);
    answers[1]?.({ decision: 'replace', forAll: false });
    await Promise.all(both);
    assert.deepEqual(decisions, ['skip', 'replace']);
  });

  it('applies a choice for all to the batch, and to no other batch', async () => {
    const { decide, asked } = createAsker({ decision: 'keep-both', forAll: true });
    const [first, second] = [{}, {}];
    assert.equal(await decide(first), 'keep-both');
    assert.equal(await decide(first, 'folder'), 'keep-both');
    assert.equal(await decide(second), 'keep-both');
    assert.deepEqual(asked, [first, second]);
  });

  it('asks before it replaces items of other kinds', async () => {
    const { decide, asked } = createAsker({ decision: 'replace', forAll: true });
    const batch = {};
    await decide(batch, 'file');
    await decide(batch, 'file');
    assert.equal(asked.length, 1);
    await decide(batch, 'folder');
    assert.equal(asked.length, 2);
  });

  it('cancels all conflicts of the batch when the user closes the dialog', async () => {
    const { decide, asked } = createAsker(null);
    const batch = {};
    assert.equal(await decide(batch), 'cancel');
    assert.equal(await decide(batch), 'cancel');
    assert.equal(asked.length, 1);
  });

  it('continues after a dialog that failed', async () => {
    const queue = new ConflictQueue();
    const failing = queue.decide({ batch: {}, findKinds: () => FILES, ask: () => Promise.reject(new Error('No.')) });
    const ask = async () => ({ decision: 'skip', forAll: false }) as const;
    const next = queue.decide({ batch: {}, findKinds: () => FILES, ask });
    await assert.rejects(failing, /No\./);
    assert.equal(await next, 'skip');
  });
});

/** Creates a queue whose user always gives the same answer, and a list of the batches that the user was asked about. */
function createAsker(answer: ConflictAnswer | null) {
  const queue = new ConflictQueue();
  const asked: object[] = [];
  return {
    asked,
    decide: (batch: object, kind: ItemKind = 'file') =>
      queue.decide({
        batch,
        findKinds: async () => ({ incoming: kind, existing: kind }),
        async ask() {
          asked.push(batch);
          return answer;
        },
      }),
  };
}

const nextTick = () => new Promise((resolve) => setImmediate(resolve));
