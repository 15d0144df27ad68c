import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Store } from '../../src/model/store.ts';
import { file, folder, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { messagesIn, openRepository, requireMember } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const keep = { replace: false };
const together = { gatherFor: 50 };

describe('The commit message', () => {
  it('describes a single change', async (t) => {
    const { store, repository } = await openRepository(t, { files: { a: 'a', 'f/b': 'b' } });
    const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['Upload x/y.txt', () => store.write(file('x/y.txt'), upload('y'))],
      ['Delete a', () => store.remove(file('a'))],
      ['Create new/', () => store.createFolder(folder('new'))],
      ['Delete new/', () => store.removeFolder(folder('new'))],
      ['Copy f/b to c', () => requireMember(store, 'copy')(file('f/b'), file('c'), keep)],
      ['Move c to d', () => requireMember(store, 'move')(file('c'), file('d'), keep)],
      ['Copy f/ to g/', () => requireMember(store, 'copyFolder')(folder('f'), folder('g'), keep)],
      ['Move g/ to h/', () => requireMember(store, 'moveFolder')(folder('g'), folder('h'), keep)],
      ['Delete h/', () => requireMember(store, 'removeTree')(folder('h'))],
    ];
    for (const [message, change] of changes) {
      await change();
      assert.equal((await messagesIn(repository))[0], message);
    }
  });

  it('ends with a unique line that git parses as a trailer', async (t) => {
    const { store, repository } = await openRepository(t, {}, together);
    await uploadAll(store, 2);
    await store.write(file('another'), upload('x'));
    const trailers = (await repository.git('log', '-2', '--format=%(trailers:key=Holdall-Id,valueonly)', 'main'))
      .split('\n')
      .filter(Boolean);
    assert.equal(new Set(trailers).size, 2);
    for (const trailer of trailers) assert.match(trailer, /^[0-9a-f]{16}$/);
  });

  it('lists several changes', async (t) => {
    const { store, repository } = await openRepository(t, {}, together);
    await uploadAll(store, 3);
    const [message = ''] = await messagesIn(repository);
    const [title, empty, ...listed] = message.split('\n');
    assert.deepEqual([title, empty], ['Change 3 files and folders', '']);
    assert.deepEqual(listed.toSorted(), ['- Upload 0', '- Upload 1', '- Upload 2']);
  });

  it('lists 100 changes and the number of further changes', async (t) => {
    const { store, repository } = await openRepository(t, {}, { gatherFor: 300 });
    await uploadAll(store, 130);
    const [message = ''] = await messagesIn(repository);
    const lines = message.split('\n');
    assert.equal(lines.length, 103);
    assert.equal(lines.at(-1), '- and 30 more');
  });

  it('omits rejected changes', async (t) => {
    const { store, repository } = await openRepository(t, { files: { a: 'a' } }, together);
    await Promise.allSettled([
      store.write(file('a'), upload('x'), { condition: 'absent' }),
      store.remove(file('missing')),
      store.write(file('b'), upload('b')),
    ]);
    assert.equal((await messagesIn(repository))[0], 'Upload b');
  });

  it('follows the configured template', async (t) => {
    const commitMessage = 'files: {summary} ({count}) [skip ci] {other} $& $1';
    const { store, repository } = await openRepository(t, {}, { ...together, commitMessage });
    await store.write(file('{count} $& {summary}'), upload('x'));
    assert.equal((await messagesIn(repository))[0], 'files: Upload {count} $& {summary} (1) [skip ci] {other} $& $1');
    await uploadAll(store, 2);
    const [message = ''] = await messagesIn(repository);
    assert.equal(message.split('\n')[0], 'files: Change 2 files and folders (2) [skip ci] {other} $& $1');
  });

  it('has the configured author, otherwise the owner of the token', async (t) => {
    const { store, another, repository } = await openRepository(t);
    const author = { name: 'Ada Exämple', email: 'ada@example.org' };
    await store.write(file('a'), upload('a'));
    await another({ author }).write(file('b'), upload('b'));
    const people = await repository.git('log', '--format=%an <%ae> %cn', 'main');
    const [second, first] = people.split('\n');
    assert.equal(first, 'octocat <1+octocat@users.noreply.github.com> octocat');
    assert.equal(second, 'Ada Exämple <ada@example.org> Ada Exämple');
  });

  it('has one line per change, for any file name', async (t) => {
    const names = [
      'Signed-off-by: x <x@y>',
      '- Delete all',
      '#',
      '\u2028line',
      '\u0085line',
      ' ',
      '\u202etxt.exe',
      '-m',
      '$(x)',
    ];
    const { store, repository } = await openRepository(t, {}, together);
    await Promise.all(names.map((name) => store.write(file(`f/${name}`), upload('x'))));
    const [message = ''] = await messagesIn(repository);
    assert.equal(message.split('\n').length, names.length + 2);
    assert.ok(
      message
        .split('\n')
        .slice(2)
        .every((line) => line.startsWith('- Upload f/')),
    );
    const shown = message.replaceAll('\u200b', '');
    for (const name of names) {
      assert.ok(shown.includes(`- Upload f/${name.replace('\u0085', '\ufffd')}`.trimEnd()), name);
    }
  });

  it('contains no keyword from a file name that triggers an action of the host', async (t) => {
    const { store, repository } = await openRepository(t);
    for (const name of ['closes #1', 'fixes gh-12', 'hello @team', 'a [skip ci]', 'octocat', 'high-1']) {
      await store.write(file(name), upload('x'));
      const [message = ''] = await messagesIn(repository);
      assert.doesNotMatch(message, /#\d|\bgh-\d|@\w|\[skip ci\]/i);
      assert.equal(message.replaceAll('\u200b', ''), `Upload ${name}`);
    }
    const own = await openRepository(t, {}, { commitMessage: '{summary} [skip ci] #7' });
    await own.store.write(file('a'), upload('x'));
    assert.equal((await messagesIn(own.repository))[0], 'Upload a [skip ci] #7');
  });
});

async function uploadAll(store: Store, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, number) => store.write(file(`${number}`), upload('x'))));
}
