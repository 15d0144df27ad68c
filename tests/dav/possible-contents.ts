import assert from 'node:assert/strict';
import type { Change } from './recording-proxy.ts';
import type { Tree } from './trees.ts';

/** A content of a file in Latin-1; null without a file. */
type Content = string | null;

/**
 * Replays the changes. Returns the contents that each path can have: exactly one after an acknowledged change; and either
 * state after a change without a response.
 */
export function possibleContents(
  changes: readonly Change[],
  prefix: string,
): ReadonlyMap<string, ReadonlySet<Content>> {
  const possible = new Map<string, Set<Content>>();
  const of = (path: string) => possible.get(path) ?? new Set<Content>([null]);
  for (const { method, path, destination, body, status } of changes) {
    const isDone = status !== undefined && status >= 200 && status < 300;
    if (status !== undefined && !isDone) continue;
    const set = (changed: string, contents: Iterable<Content>) =>
      possible.set(
        changed.slice(prefix.length),
        new Set([...contents, ...(isDone ? [] : of(changed.slice(prefix.length)))]),
      );
    const before = of(path.slice(prefix.length));
    switch (method) {
      case 'PUT':
        set(path, [body.toString('latin1')]);
        break;
      case 'DELETE':
        set(path, [null]);
        break;
      case 'MOVE':
        assert.ok(destination !== undefined);
        set(destination, before);
        set(path, [null]);
        break;
      case 'LOCK':
        // Locking a free path creates an empty file (RFC 4918, section 7.3).
        if (status !== 200)
          set(
            path,
            [...before].map((content) => content ?? ''),
          );
        break;
      case 'UNLOCK':
        break;
      default:
        assert.fail(`${method} is not expected.`);
    }
  }
  return possible;
}

/** Asserts that each path has one of its possible contents, and that no other file exists. */
export function assertPossible(tree: Tree, possible: ReturnType<typeof possibleContents>): void {
  for (const path of new Set([...possible.keys(), ...Object.keys(tree)])) {
    const actual = tree[path] ?? null;
    const contents = possible.get(path);
    assert.ok(contents, `No client has written "${path}".`);
    const sizes = (each: Content) => (each === null ? 'no file' : `${each.length} bytes`);
    assert.ok(contents.has(actual), `"${path}": ${sizes(actual)} instead of ${[...contents].map(sizes).join(' or ')}`);
  }
}
