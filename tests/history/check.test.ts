import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { check } from './check.ts';
import {
  formatHistory,
  type History,
  type Line,
  type Operation,
  type Outcome,
  parseHistory,
  type StoreKind,
  type UndoableOperation,
  type UndoStep,
} from './history.ts';
import { reportOf } from './report.ts';

const ALL: readonly StoreKind[] = ['disk', 'bucket', 'versioned-bucket', 'github'];
const DISK: readonly StoreKind[] = ['disk'];
const BUCKET: readonly StoreKind[] = ['bucket', 'versioned-bucket'];
const GITHUB: readonly StoreKind[] = ['github'];
const EXCEPT_GITHUB: readonly StoreKind[] = ['disk', 'bucket', 'versioned-bucket'];
/** The stores that enforce conditions on writes. */
const CONDITIONAL: readonly StoreKind[] = ['disk', 'bucket', 'github'];
/** The stores that keep a content that another request replaces while it arrives. */
const KEEPING_REPLACED: readonly StoreKind[] = ['disk', 'versioned-bucket', 'github'];
const EXCEPT_BUCKET: readonly StoreKind[] = ['disk', 'github'];

/** Events in their order: a whole operation, its call, its end, or another event. */
type Event =
  | readonly [operation: Operation, outcome: Outcome]
  | { readonly calls: string; readonly operation: Operation }
  | { readonly ends: string; readonly outcome: Outcome }
  | { readonly kept: readonly number[] }
  | 'barrier'
  | 'cut';

const calls = (name: string, operation: Operation): Event => ({ calls: name, operation });
const ends = (name: string, outcome: Outcome): Event => ({ ends: name, outcome });

const upload = (path: string, content: number): Operation => ({ does: 'upload', path, content, isNew: false });
const uploadNew = (path: string, content: number): Operation => ({ does: 'upload', path, content, isNew: true });
const fetch = (path: string): Operation => ({ does: 'fetch', path });
const list = (folder: string): Operation => ({ does: 'list', folder });
const remove = (path: string): Operation => ({ does: 'delete', path });
const removeFolder = (folder: string): Operation => ({ does: 'delete folder', folder });
const transfer = (does: 'copy' | 'move' | 'copy folder' | 'move folder', from: string, to: string): Operation => ({
  does,
  from,
  to,
  replace: false,
});
const replacing = (operation: Operation): Operation => ({ ...operation, replace: true }) as Operation;

const restore = (path: string, content: number): Operation => ({ does: 'restore', item: 'id', path, content });
const restoreFolder = (folder: string, files: Readonly<Record<string, number>>): Operation => ({
  does: 'restore folder',
  item: 'id',
  folder,
  files,
});
const restoreVersion = (path: string, content: number): Operation => ({
  does: 'restore version',
  version: 'id',
  path,
  content,
});
const purge = (...contents: readonly number[]): Operation => ({ does: 'purge', item: 'id', contents });

const undo = (of: UndoableOperation, files: Readonly<Record<string, readonly number[]>> = {}): Operation => ({
  does: 'undo',
  change: 'id',
  of,
  files,
});
const uploaded: UndoableOperation = { does: 'upload', path: 'a', content: 2, isNew: false };
const deleted: UndoableOperation = { does: 'delete', path: 'a' };
const moved: UndoableOperation = { does: 'move', from: 'a', to: 'f/x', replace: true };
/** An undo whose response has these steps. */
const undone = (...steps: readonly UndoStep[]): Outcome => ({ is: 'done', steps });

const done: Outcome = { is: 'done' };
const found = (content: number): Outcome => ({ is: 'found', content });
const nothing: Outcome = { is: 'found', content: null };
const unknown: Outcome = { is: 'unknown', why: 'the connection broke' };
const withoutFolder: Outcome = { is: 'without folder', error: '' };
const refused = (status: number): Outcome => ({ is: 'refused', status, error: '' });
const listed = (files: Readonly<Record<string, number>>): Outcome => ({ is: 'listed', files });

const stored = (path: string, content: number): Event => [upload(path, content), done];
const holds = (path: string, content: number): Event => [fetch(path), content === 0 ? nothing : found(content)];

type Case = readonly [what: string, stores: readonly StoreKind[], ...events: readonly Event[]];

const VIOLATIONS: readonly Case[] = [
  ['a lost upload', ALL, stored('a', 1), holds('a', 0)],
  ['an upload that a later one does not replace', ALL, stored('a', 1), stored('a', 2), holds('a', 1)],
  ['a deleted file that comes back', ALL, stored('a', 1), [remove('a'), done], holds('a', 0), holds('a', 1)],
  ['a content that no operation wrote', ALL, stored('a', 1), stored('fx', 2), holds('fx', 1)],
  ['bytes of two contents', ALL, stored('a', 1), [fetch('a'), { is: 'wrong', why: 'bytes of no content' }]],
  ['a file that no operation uploaded', ALL, [list(''), listed({ 'a.tmp': 5 })]],
  ['an upload that must not replace a file and does', ALL, stored('a', 1), [uploadNew('a', 2), done]],
  ['an upload that fails for a file that does not exist', ALL, [uploadNew('a', 2), refused(412)]],
  ['an upload to the root that is refused because its folder is missing', ALL, [upload('a', 1), withoutFolder]],
  [
    'an upload that is refused because a folder with files is missing',
    ALL,
    stored('f/x', 1),
    [upload('f/y', 2), withoutFolder],
  ],
  [
    'two uploads that must not replace each other and both succeed',
    CONDITIONAL,
    calls('p', uploadNew('a', 1)),
    calls('q', uploadNew('a', 2)),
    ends('p', done),
    ends('q', done),
  ],
  ['an interrupted upload whose content exists', ALL, stored('a', 1), [upload('a', 2), { is: 'left' }], holds('a', 2)],
  ['an interrupted upload that removed the file', ALL, stored('a', 1), [upload('a', 2), { is: 'left' }], holds('a', 0)],
  [
    'a fetch of the new content, and then of the old one',
    ALL,
    stored('a', 1),
    calls('p', upload('a', 2)),
    holds('a', 2),
    holds('a', 1),
    ends('p', done),
  ],
  [
    'a rejected operation that took effect',
    ALL,
    stored('a', 1),
    stored('f/x', 2),
    [transfer('copy', 'a', 'f/x'), refused(409)],
    holds('f/x', 1),
  ],
  ['a conflict with a free path', ALL, stored('a', 1), [transfer('copy', 'a', 'f/x'), refused(409)]],
  ['a 404 for an existing file', ALL, stored('a', 1), [remove('a'), refused(404)]],
  ['a copy of a missing file', ALL, [transfer('copy', 'a', 'f/x'), done]],
  [
    'a copy that must not replace a file and does',
    CONDITIONAL,
    stored('a', 1),
    stored('f/x', 2),
    [transfer('copy', 'a', 'f/x'), done],
  ],
  ['a copy that does not exist', ALL, stored('a', 1), [transfer('copy', 'a', 'f/x'), done], holds('f/x', 0)],
  ['a move that loses the file', ALL, stored('a', 1), [transfer('move', 'a', 'f/x'), done], holds('f/x', 0)],
  ['a move that leaves the file', ALL, stored('a', 1), [transfer('move', 'a', 'f/x'), done], holds('a', 1)],
  ['the removal of a neighbour', ALL, stored('f/x', 1), stored('fx', 2), [removeFolder('f/'), done], holds('fx', 0)],
  [
    'a removal that leaves a file',
    ALL,
    stored('f/x', 1),
    stored('f/y', 2),
    [removeFolder('f/'), done],
    holds('f/y', 2),
  ],
  [
    'a copy of a folder that lacks a file',
    ALL,
    stored('f/x', 1),
    stored('f/y', 2),
    [transfer('copy folder', 'f/', 'g/'), done],
    holds('g/y', 0),
  ],
  [
    'a move of a folder that loses a file',
    ALL,
    stored('f/x', 1),
    stored('f/y', 2),
    [transfer('move folder', 'f/', 'g/'), done],
    [list('g/'), listed({ 'g/x': 1 })],
  ],
  [
    'a folder that is moved over another folder without replacing it',
    EXCEPT_BUCKET,
    stored('f/x', 1),
    stored('g/y', 2),
    [replacing(transfer('move folder', 'f/', 'g/')), done],
    holds('g/y', 2),
  ],
  [
    'a replaced folder that returns after a success',
    ALL,
    stored('f/x', 1),
    stored('g/x', 2),
    calls('p', replacing(transfer('copy folder', 'f/', 'g/'))),
    ends('p', done),
    holds('g/x', 2),
  ],
  [
    'a half of a commit',
    GITHUB,
    stored('f/x', 1),
    stored('f/y', 2),
    calls('p', transfer('move folder', 'f/', 'g/')),
    holds('g/x', 1),
    holds('f/y', 2),
    ends('p', done),
  ],
  [
    'a listing of two moments',
    GITHUB,
    stored('f/x', 1),
    calls('l', list('f/')),
    stored('f/x', 2),
    stored('f/y', 3),
    ends('l', listed({ 'f/x': 1, 'f/y': 3 })),
  ],
  [
    'an unfinished commit',
    GITHUB,
    stored('f/x', 1),
    stored('f/y', 2),
    [transfer('move folder', 'f/', 'g/'), unknown],
    holds('g/x', 1),
    holds('g/y', 0),
  ],
  [
    'a rejected move that is half complete',
    EXCEPT_BUCKET,
    stored('a', 1),
    [transfer('move', 'a', 'f/x'), refused(404)],
  ],
  [
    'one file that two requests delete',
    EXCEPT_BUCKET,
    stored('a', 1),
    calls('p', remove('a')),
    calls('q', remove('a')),
    ends('p', done),
    ends('q', done),
  ],
  [
    'an upload that is moved by a move of the old file',
    EXCEPT_BUCKET,
    stored('a', 1),
    calls('p', transfer('move', 'a', 'f/x')),
    holds('f/x', 1),
    stored('a', 2),
    ends('p', done),
    holds('f/x', 1),
    holds('a', 0),
  ],
  [
    'an upload with an unknown outcome that takes effect too late',
    ALL,
    [upload('a', 1), unknown],
    'barrier',
    'barrier',
    holds('a', 0),
    holds('a', 1),
  ],
  [
    'an operation with an unknown outcome that takes effect twice',
    ALL,
    [upload('a', 1), unknown],
    holds('a', 1),
    [remove('a'), done],
    holds('a', 1),
  ],
  [
    'an upload that is done twice',
    ALL,
    calls('p', upload('a', 1)),
    holds('a', 1),
    stored('a', 2),
    holds('a', 2),
    holds('a', 1),
    ends('p', done),
  ],
  ['an invalid response', ALL, [upload('a', 1), refused(404)]],
  ['a deleted content that the store lost', ALL, stored('a', 1), [remove('a'), done], { kept: [] }],
  ['a replaced content that the store lost', ALL, stored('a', 1), stored('a', 2), { kept: [2] }],
  ['a content that the store lost at its path', ALL, stored('a', 1), { kept: [2] }],
  ['a removal of another content', ALL, stored('a', 1), [purge(2), done], { kept: [] }],
  [
    'a content that was replaced as it arrived, and that the store lost',
    KEEPING_REPLACED,
    calls('p', upload('a', 1)),
    calls('q', upload('a', 2)),
    ends('p', done),
    ends('q', done),
    { kept: [2] },
  ],
  [
    'a content that was moved and then replaced, and that the store lost',
    ALL,
    stored('a', 1),
    [transfer('move', 'a', 'f/x'), done],
    stored('f/x', 2),
    { kept: [2] },
  ],
  [
    'an undone upload that is still there',
    ALL,
    stored('a', 2),
    [undo(uploaded), undone({ type: 'file.deleted', path: 'a' })],
    holds('a', 2),
  ],
  [
    'an undone upload without the content that it had replaced',
    ALL,
    stored('a', 1),
    stored('a', 2),
    [undo(uploaded, { a: [1, 3] }), undone({ type: 'file.replaced', path: 'a', size: 1 })],
    holds('a', 3),
  ],
  [
    'an undone deletion without the file',
    ALL,
    stored('a', 1),
    [remove('a'), done],
    [undo(deleted, { a: [1] }), undone({ type: 'file.restored', path: 'a' })],
    holds('a', 0),
  ],
  [
    'an undone move that leaves the file',
    ALL,
    stored('a', 1),
    [transfer('move', 'a', 'f/x'), done],
    [undo(moved), undone({ type: 'file.moved', path: 'a' })],
    holds('f/x', 1),
  ],
  ['a restored version that is not there', ALL, stored('a', 1), [restoreVersion('a', 2), done], holds('a', 1)],
  ['a restored version of another file', ALL, stored('a', 1), [restoreVersion('fx', 2), done], holds('a', 2)],
  ['a restore that replaces', ALL, stored('a', 1), [restore('a', 2), done]],
  ['a restore that is refused without reason', ALL, [restore('a', 2), refused(409)]],
  ['a restored file that is not there', ALL, [restore('a', 2), done], holds('a', 0)],
  ['a restored folder that lacks a file', ALL, [restoreFolder('f/', { 'f/x': 1, 'f/y': 2 }), done], holds('f/y', 0)],
  [
    'a folder that is restored into another folder',
    EXCEPT_BUCKET,
    stored('f/y', 1),
    [restoreFolder('f/', { 'f/x': 2 }), done],
  ],
];

const EXPLAINED: readonly Case[] = [
  [
    'an upload that is refused while its folder is being deleted',
    ALL,
    stored('f/x', 1),
    calls('p', remove('f/x')),
    calls('q', upload('f/y', 2)),
    ends('q', withoutFolder),
    ends('p', done),
    holds('f/y', 0),
  ],
  [
    'a file that is deleted and restored',
    ALL,
    stored('a', 1),
    [remove('a'), done],
    { kept: [1] },
    [restore('a', 1), done],
    holds('a', 1),
    { kept: [1] },
  ],
  [
    'a content that was replaced as it arrived',
    ['bucket'],
    calls('p', upload('a', 1)),
    calls('q', upload('a', 2)),
    ends('p', done),
    ends('q', done),
    { kept: [2] },
  ],
  [
    'a content that was moved to the path of another upload',
    ['bucket'],
    stored('a', 1),
    calls('p', transfer('move', 'a', 'f/x')),
    calls('q', upload('f/x', 2)),
    ends('p', done),
    ends('q', done),
    { kept: [2] },
  ],
  [
    'an undone upload',
    ALL,
    stored('a', 1),
    stored('a', 2),
    [undo(uploaded, { a: [1] }), undone({ type: 'file.replaced', path: 'a' })],
    holds('a', 1),
    { kept: [1, 2] },
  ],
  [
    'an undone move that had replaced a file',
    ALL,
    stored('a', 1),
    stored('f/x', 2),
    [replacing(transfer('move', 'a', 'f/x')), done],
    [undo(moved, { 'f/x': [2] }), undone({ type: 'file.moved', path: 'a' }, { type: 'file.created', path: 'f/x' })],
    holds('a', 1),
    holds('f/x', 2),
  ],
  [
    'an undo with an unknown outcome',
    ALL,
    stored('a', 1),
    [remove('a'), done],
    [undo(deleted, { a: [1] }), unknown],
    holds('a', 0),
    holds('a', 1),
  ],
  ['an undo that is refused', ALL, stored('a', 2), [undo(uploaded), refused(409)], holds('a', 2)],
  [
    'a restored version',
    ALL,
    stored('a', 1),
    stored('a', 2),
    [restoreVersion('a', 1), done],
    holds('a', 1),
    { kept: [1, 2] },
  ],
  ['a version that is gone', ALL, stored('a', 1), [restoreVersion('a', 2), refused(404)], holds('a', 1)],
  [
    'a folder whose files are restored one by one',
    BUCKET,
    calls('p', restoreFolder('f/', { 'f/x': 1, 'f/y': 2 })),
    holds('f/x', 0),
    holds('f/y', 2),
    holds('f/x', 0),
    ends('p', done),
    holds('f/x', 1),
  ],
  ['a content that was removed on purpose', ALL, stored('a', 1), [remove('a'), done], [purge(1), done], { kept: [] }],
  ['a content that was perhaps removed', ALL, stored('a', 1), [remove('a'), done], [purge(1), unknown], { kept: [] }],
  ['an upload that perhaps was not, and is not kept', ALL, [upload('a', 1), unknown], { kept: [] }],
  ['a restore for which the name is taken', ALL, stored('a', 1), [restore('a', 2), refused(409)], holds('a', 1)],
  ['a restore of what another one restored', ALL, [restore('a', 2), refused(404)], holds('a', 0)],
  [
    'a folder that is restored at once, seen before the end',
    EXCEPT_BUCKET,
    calls('p', restoreFolder('f/', { 'f/x': 1, 'f/y': 2 })),
    holds('f/x', 0),
    holds('f/y', 2),
    holds('f/x', 1),
    ends('p', done),
  ],
  ['a restore of an empty folder', ALL, [restoreFolder('f/', {}), done], stored('f/x', 1), { kept: [1] }],
  [
    'a folder that is renamed away twice, because a file was created meanwhile',
    DISK,
    stored('f/x', 1),
    stored('g/x', 2),
    calls('p', replacing(transfer('move folder', 'f/', 'g/'))),
    holds('g/x', 0),
    stored('g/x', 3),
    holds('g/x', 0),
    ends('p', done),
    holds('g/x', 1),
    { kept: [1, 2, 3] },
  ],
  [
    'concurrent uploads, in any order',
    ALL,
    calls('p', upload('a', 1)),
    calls('q', upload('a', 2)),
    ends('p', done),
    ends('q', done),
    holds('a', 1),
  ],
  [
    'an upload that is seen before it ends',
    ALL,
    calls('p', upload('a', 1)),
    holds('a', 0),
    holds('a', 1),
    ends('p', done),
    holds('a', 1),
  ],
  ['an upload that perhaps was not', ALL, [upload('a', 1), unknown], holds('a', 0), 'barrier', holds('a', 0)],
  [
    'an upload with an unknown outcome that takes effect later',
    ALL,
    [upload('a', 1), unknown],
    holds('a', 0),
    'barrier',
    holds('a', 1),
    'barrier',
    holds('a', 1),
  ],
  [
    'a rejection because of a file that exists for a moment',
    ALL,
    calls('p', upload('a', 1)),
    [uploadNew('a', 2), refused(412)],
    ends('p', done),
  ],
  [
    'concurrent moves of one file, one of which is late',
    ALL,
    stored('a', 1),
    calls('p', transfer('move', 'a', 'f/x')),
    calls('q', transfer('move', 'a', 'f/y')),
    ends('p', done),
    ends('q', refused(404)),
    holds('f/x', 1),
    holds('a', 0),
    holds('f/y', 0),
  ],
  [
    'a file with both names for a moment',
    EXCEPT_GITHUB,
    stored('a', 1),
    calls('p', transfer('move', 'a', 'f/x')),
    holds('f/x', 1),
    holds('a', 1),
    ends('p', done),
  ],
  [
    'a copy of the earlier content',
    EXCEPT_GITHUB,
    stored('a', 1),
    calls('p', transfer('copy', 'a', 'f/x')),
    stored('a', 2),
    holds('f/x', 0),
    ends('p', done),
    holds('f/x', 1),
  ],
  [
    'a folder that is missing for a moment',
    EXCEPT_GITHUB,
    stored('f/x', 1),
    stored('g/x', 2),
    calls('p', replacing(transfer('move folder', 'f/', 'g/'))),
    holds('g/x', 0),
    ends('p', done),
    holds('g/x', 1),
  ],
  [
    'a folder that a failed copy moves to the trash and back, although another request deletes its file',
    BUCKET,
    stored('f/x', 1),
    stored('g/x', 2),
    calls('p', replacing(transfer('copy folder', 'f/', 'g/'))),
    calls('q', removeFolder('g/')),
    holds('g/x', 0),
    [removeFolder('f/'), done],
    ends('q', done),
    ends('p', refused(404)),
    holds('g/x', 2),
  ],
  [
    'a folder that moves file by file',
    BUCKET,
    stored('f/x', 1),
    stored('f/y', 2),
    calls('p', transfer('move folder', 'f/', 'g/')),
    holds('g/x', 1),
    holds('g/y', 0),
    holds('f/x', 1),
    ends('p', done),
    holds('f/y', 0),
  ],
  [
    'a half of a move',
    BUCKET,
    stored('f/x', 1),
    stored('f/y', 2),
    [transfer('move folder', 'f/', 'g/'), unknown],
    holds('g/x', 1),
    holds('g/y', 0),
    holds('f/y', 2),
  ],
  [
    'one object that two requests delete',
    BUCKET,
    stored('a', 1),
    calls('p', remove('a')),
    calls('q', remove('a')),
    ends('p', done),
    ends('q', done),
  ],
  [
    'a repeated request',
    BUCKET,
    calls('p', upload('a', 1)),
    holds('a', 1),
    'cut',
    stored('a', 2),
    holds('a', 2),
    holds('a', 1),
    ends('p', done),
  ],
];

describe('The checker of histories', () => {
  for (const [what, stores, ...events] of VIOLATIONS) {
    for (const store of stores) {
      it(`detects ${what} on the store "${store}"`, () => {
        const history = historyOf(store, events);
        const verdict = check(history);
        assert.equal(verdict.is, 'violation');
        assert.match(reportOf(history, verdict), /^No explanation for line/);
      });
    }
  }

  for (const [what, stores, ...events] of EXPLAINED) {
    for (const store of stores) {
      it(`accepts ${what} on the store "${store}"`, () => {
        assert.equal(check(historyOf(store, events)).is, 'explained');
      });
    }
  }

  it('parses a formatted history without loss', () => {
    const history = historyOf('disk', [stored('a', 1), 'barrier', 'cut', holds('a', 1)]);
    assert.deepEqual(parseHistory(formatHistory(history)), history);
  });

  it('describes a violation in lines', () => {
    const history = historyOf('disk', [stored('a', 1), stored('fx', 2), [remove('a'), done], holds('a', 1)]);
    const verdict = check(history);
    assert.equal(verdict.is, 'violation');
    assert.deepEqual(reportOf(history, verdict).split('\n'), [
      'No explanation for line 9 of the history on the store "disk" (seed 1): no guaranteed steps explain this outcome.',
      'It is operation 4, fetch a.',
      'Before, a could contain nothing.',
      'The events of these paths in this round and the previous one:',
      '       0.0 ms  client → 0        1  upload content 1 at a …',
      '       1.0 ms  client → 0        1  … upload content 1 at a: done',
      '       4.0 ms  client → 0        3  delete a …',
      '       5.0 ms  client → 0        3  … delete a: done',
      '       6.0 ms  client → 0        4  fetch a …',
      '       7.0 ms  client → 0        4  … fetch a: content 1',
    ]);
  });
});

function historyOf(store: StoreKind, events: readonly Event[]): History {
  const lines: Line[] = [];
  const ids = new Map<string, number>();
  const call = (name: string, operation: Operation) => {
    const id = ids.size + 1;
    ids.set(name, id);
    lines.push({ is: 'call', at: lines.length, id, client: 'client', replica: 0, operation });
  };
  const end = (name: string, outcome: Outcome) =>
    lines.push({ is: 'end', at: lines.length, id: ids.get(name) ?? assert.fail(name), outcome });
  for (const [index, event] of events.entries()) {
    if (event === 'barrier') lines.push({ is: 'barrier', at: lines.length });
    else if (event === 'cut') lines.push({ is: 'fault', at: lines.length, fault: 'cut' });
    else if ('kept' in event) lines.push({ is: 'kept', at: lines.length, contents: event.kept });
    else if ('calls' in event) call(event.calls, event.operation);
    else if ('ends' in event) end(event.ends, event.outcome);
    else {
      call(`${index}`, event[0]);
      end(`${index}`, event[1]);
    }
  }
  return { store, seed: 1, paths: ['a', 'fx', 'f/x', 'f/y', 'g/x', 'g/y'], lines };
}
