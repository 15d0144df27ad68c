import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ScrollPosition } from '../../../web/src/ui/virtual-rows.ts';

const VIEW = 800;

describe('The scroll position among rows', () => {
  it('is that of the browser if an element can be as tall as the rows', () => {
    const { position, wheel, scroller } = scroll(5_000_000);
    position.top = 1234;
    wheel(500);
    assert.deepEqual([position.top, position.origin, scroller.scrollTop], [1734, 0, 1734]);
    position.align();
    assert.deepEqual([position.top, position.origin, scroller.scrollTop], [1734, 0, 1734]);
  });

  it('follows the wheel to both ends, also after pauses, if the rows are taller than an element can be', () => {
    const { position, wheel, end } = scroll(19_200_000);
    for (const distance of [500, 300, 5000, 40_000]) {
      position.top = 0;
      wheel(distance);
      position.align();
      assert.equal(position.top, distance);
      wheel(-distance);
      position.align();
      assert.equal(position.top, 0, `${distance} pixels below the start`);

      position.top = end;
      wheel(-distance);
      position.align();
      assert.equal(position.top, end - distance);
      wheel(distance);
      position.align();
      assert.equal(position.top, end, `${distance} pixels above the end`);
    }
  });

  it('reaches the end by the wheel alone', () => {
    const { position, wheel, end } = scroll(19_200_000);
    position.top = end - 1_000_000;
    for (let index = 1; index <= 2000; index += 1) {
      wheel(500);
      if (index % 7 === 0) position.align();
      assert.ok(Math.abs(position.top - (end - 1_000_000 + 500 * index)) < 1 || position.top === end, `turn ${index}`);
    }
    assert.equal(position.top, end);
  });

  it('moves the scroll bar, but not the rows, when it is aligned', () => {
    const { position, wheel, scroller, end } = scroll(100_000_000);
    const rising = [];
    for (const top of [0, 1, 99_999, 100_001, 1_000_000, end / 2, end - 100_001, end - 99_999, end - 1, end]) {
      position.top = top;
      assert.ok(Math.abs(position.top - top) < 1e-6, `${top}`);
      wheel(700 * Math.sign(end / 2 - top || 1));
      const before = position.top;
      position.align();
      assert.ok(Math.abs(position.top - before) < 1e-6, `${top}`);
      rising.push(scroller.scrollTop);
    }
    assert.deepEqual(
      rising,
      rising.toSorted((a, b) => a - b),
    );
  });

  it('follows a drag of the scroll bar to every part of the rows', () => {
    const { position, drag, scroller, end } = scroll(100_000_000);
    const max = scroller.scrollHeight - VIEW;
    drag(max);
    assert.equal(position.top, end);
    drag(max / 2);
    assert.ok(Math.abs(position.top - end / 2) < 1);
    drag(max * 0.75);
    assert.ok(position.top > end * 0.7 && position.top < end * 0.8);
    drag(0);
    assert.equal(position.top, 0);
    // Programs set the position, and the browser reports it.
    for (const top of [end / 3, 50_000, end - 50_000]) {
      position.top = top;
      const { origin } = position;
      drag(0);
      drag(top - origin);
      assert.ok(Math.abs(position.top - top) < 1e-3, `${top}`);
    }
  });

  it('remains in the rows, and follows their number', () => {
    const { position, scroller, setHeight } = scroll(19_200_000);
    position.top = -5;
    assert.equal(position.top, 0);
    position.top = 1e9;
    assert.equal(position.top, 19_200_000 - VIEW);
    position.top = 7_000_000;
    setHeight(7_500_000);
    position.align();
    assert.equal(position.origin, 0);
    assert.equal(position.top, 7_000_000);
    assert.equal(scroller.scrollTop, 7_000_000);
    setHeight(50_000_000);
    position.align();
    assert.ok(Math.abs(position.top - 7_000_000) < 1e-6);
    assert.ok(scroller.scrollTop < 2_000_000);
  });

  it('is not written to the browser if it is already there, because that would end an animation', () => {
    const { position, wheel, writes } = scroll(19_200_000);
    position.top = 300;
    const before = writes();
    wheel(200);
    position.align();
    assert.equal(writes(), before);
  });
});

/** Creates a position in an element that behaves as in a browser. */
function scroll(height: number) {
  let scrollTop = 0;
  let scrollHeight = 0;
  let writes = 0;
  const clamp = (value: number) => Math.max(0, Math.min(value, scrollHeight - VIEW));
  const scroller = {
    clientHeight: VIEW,
    get scrollHeight() {
      return scrollHeight;
    },
    get scrollTop() {
      return scrollTop;
    },
    set scrollTop(value) {
      writes += 1;
      scrollTop = clamp(value);
    },
  };
  const position = new ScrollPosition(() => scroller);
  const setHeight = (value: number) => {
    position.height = value;
    scrollHeight = Math.min(value, 8_000_000);
    scrollTop = clamp(scrollTop);
  };
  setHeight(height);
  const moveTo = (value: number) => {
    scrollTop = clamp(value);
    position.update();
  };
  return {
    position,
    scroller,
    setHeight,
    end: height - VIEW,
    writes: () => writes,
    /** Scrolls in steps, as the animation of a wheel does. */
    wheel(distance: number) {
      // The target of an animation is limited when it starts.
      const target = clamp(scrollTop + distance);
      const steps = Math.ceil(Math.abs(distance) / 400);
      const step = (target - scrollTop) / steps;
      for (let index = 1; index < steps; index += 1) moveTo(scrollTop + step);
      moveTo(target);
    },
    drag: moveTo,
  };
}
