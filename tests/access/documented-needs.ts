import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { PERMISSIONS, type Permission } from '../../src/access/policy.ts';

/** A right that a request requires, in the folder of its source or destination, or also in everything below it. */
export interface Need {
  readonly right: Permission;
  readonly at: 'source' | 'destination';
  readonly throughout: boolean;
}

/** A row of the table "Required permissions". */
export interface DocumentedRow {
  readonly title: string;
  /** The methods and paths, in the syntax of the router. */
  readonly routes: readonly { readonly method: string; readonly url: string }[];
  readonly needs: readonly Need[];
  /** Whether the request needs the permission to manage the root. */
  readonly needsRoot: boolean;
  /** Whether the URL carries its own permission. */
  readonly isSigned: boolean;
  /** Whether the request is for the trash or for versions, and so also needs `write` or `manage`, and a user. */
  readonly isOfHistory: boolean;
  /** Whether the request names an item in the trash, or a change. */
  readonly isOfItem: boolean;
}

/** Reads the table in docs/reference/access-file.md. */
export async function readDocumentedNeeds(): Promise<readonly DocumentedRow[]> {
  const page = await readFile(new URL('../../docs/reference/access-file.md', import.meta.url), 'utf8');
  const section = page.split(/^## /m).find((text) => text.startsWith('Required permissions\n')) ?? '';
  const [head = [], , ...rows] = [...section.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) =>
    row.split('|').map((cell) => cell.trim()),
  );
  assert.deepEqual(
    head.slice(2),
    PERMISSIONS.map((right) => `\`${right}\``),
  );
  return rows.map(([title = '', requests = '', ...cells]) => ({
    title,
    routes: [...requests.matchAll(/`([A-Z]+) (\/[^`]*)`/g)].map(([, method = '', path = '']) => ({
      method,
      url: path.replaceAll(/\{[^}]*\}/g, '*'),
    })),
    needs: PERMISSIONS.flatMap((right, index) => needsOf(right, cells[index] ?? assert.fail(title))),
    needsRoot: cells.at(-1) === THE_ROOT,
    isSigned: cells[0] === 'the signature',
    isOfHistory: /\b(?:trash|an item|versions?)\b/.test(title),
    isOfItem: requests.includes('/-/trash/{id}') || requests.includes('/-/undo'),
  }));
}

/** The cell of requests that are only for users who manage the root. `routes.test.ts` tests them. */
const THE_ROOT = 'the root';

function needsOf(right: Permission, cell: string): readonly Need[] {
  if (cell === '' || cell === 'the signature' || cell === THE_ROOT) return [];
  return cell.split(', ').map((place) => {
    const [, all, what] = /^(all of )?the (file|folder|item|source|destination)$/.exec(place) ?? assert.fail(place);
    return { right, at: what === 'destination' ? what : 'source', throughout: all !== undefined };
  });
}
