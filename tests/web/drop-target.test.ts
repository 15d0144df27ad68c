import assert from 'node:assert/strict';
import { it } from 'node:test';
import { canTake } from '../../web/src/dragging/drop-target.ts';

it('Entries are dropped into other folders only: neither into themselves, nor below, nor where they are', () => {
  assert.equal(canTake('photos/', ['cat.jpg', 'music/']), true);
  assert.equal(canTake('', ['photos/cat.jpg']), true);
  assert.equal(canTake('', ['cat.jpg']), false);
  assert.equal(canTake('photos/', ['photos/cat.jpg']), false);
  assert.equal(canTake('photos/', ['photos/']), false);
  assert.equal(canTake('photos/2026/', ['photos/']), false);
  assert.equal(canTake('photos/2026/', ['cat.jpg', 'photos/']), false);
  // A name that merely begins like another.
  assert.equal(canTake('photos-old/', ['photos/']), true);
  // Files from elsewhere have no path here.
  assert.equal(canTake('photos/', []), true);
});
