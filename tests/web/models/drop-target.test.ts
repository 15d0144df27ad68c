import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptsEntries, createSpringLoading, targetOfFiles } from '../../../web/src/features/dragging/drop-target.ts';

describe('A folder', () => {
  it('accepts entries of other folders, except one of the entries or a folder inside it', () => {
    assert.equal(acceptsEntries('photos/', ['cat.jpg', 'music/']), true);
    assert.equal(acceptsEntries('', ['photos/cat.jpg']), true);
    assert.equal(acceptsEntries('', ['cat.jpg']), false);
    assert.equal(acceptsEntries('photos/', ['photos/cat.jpg']), false);
    assert.equal(acceptsEntries('photos/', ['photos/']), false);
    assert.equal(acceptsEntries('photos/2026/', ['photos/']), false);
    assert.equal(acceptsEntries('photos/2026/', ['cat.jpg', 'photos/']), false);
    // The names only start alike.
    assert.equal(acceptsEntries('photos-old/', ['photos/']), true);
    // Files of other programs have no path.
    assert.equal(acceptsEntries('photos/', []), true);
  });
});

describe('Dropped files', () => {
  const here = { pointed: null, shown: 'here/', isReadOnly: false, isDialogOpen: false, mayWrite: () => true };

  it('go to the folder below the pointer, otherwise to the shown folder', () => {
    assert.deepEqual(targetOfFiles(here), { folder: 'here/' });
    assert.deepEqual(targetOfFiles({ ...here, pointed: 'here/sub/' }), { folder: 'here/sub/' });
    assert.deepEqual(targetOfFiles({ ...here, pointed: '' }), { folder: '' });
    assert.deepEqual(targetOfFiles({ ...here, shown: '' }), { folder: '' });
  });

  it('are rejected with the reason if no folder accepts them', () => {
    assert.deepEqual(targetOfFiles({ ...here, isReadOnly: true, isDialogOpen: true }), { rejection: 'readOnly' });
    assert.deepEqual(targetOfFiles({ ...here, isDialogOpen: true }), { rejection: 'dialogOpen' });
    assert.deepEqual(targetOfFiles({ ...here, shown: null }), { rejection: 'notLoaded' });
    assert.deepEqual(targetOfFiles({ ...here, mayWrite: () => false }), { rejection: 'addDenied' });
    // The shown folder is no substitute for a folder that the user may not write to.
    const mayWrite = (folder: string) => folder === 'here/';
    assert.deepEqual(targetOfFiles({ ...here, pointed: 'here/sub/', mayWrite }), { rejection: 'addDenied' });
  });
});

describe('A drag that rests on a folder', () => {
  const DWELL_MS = 700;

  it('opens the folder, and the next one only after the pointer has moved and rested again', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const opened: string[] = [];
    const spring = createSpringLoading((folder) => opened.push(folder));
    const rest = (folder: string | null, x: number, ms = DWELL_MS) => {
      // A drag sends events while the pointer rests, too.
      for (let passed = 0; passed < ms; passed += 50) {
        spring.over(folder, { x, y: 0 });
        t.mock.timers.tick(50);
      }
    };
    rest('a/', 100);
    assert.deepEqual(opened, ['a/']);
    rest('a/b/', 100, 5_000);
    rest('a/b/', 104, 5_000);
    assert.deepEqual(opened, ['a/']);
    rest('a/b/', 110, DWELL_MS - 50);
    assert.deepEqual(opened, ['a/']);
    rest('a/b/', 110, 50);
    assert.deepEqual(opened, ['a/', 'a/b/']);
  });

  it('opens nothing after it has moved on or ended', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const opened: string[] = [];
    const spring = createSpringLoading((folder) => opened.push(folder));
    spring.over('a/', { x: 0, y: 0 });
    t.mock.timers.tick(DWELL_MS - 1);
    spring.over(null, { x: 50, y: 0 });
    t.mock.timers.tick(DWELL_MS);
    spring.over('b/', { x: 90, y: 0 });
    t.mock.timers.tick(DWELL_MS - 1);
    spring.end();
    t.mock.timers.tick(DWELL_MS);
    assert.deepEqual(opened, []);
  });
});
