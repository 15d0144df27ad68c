/** Scrolls what bears `data-scroller` while something is held near its upper or lower edge. */
export interface AutoScroll {
  over(element: Element, clientY: number): void;
  end(): void;
}

/** Pixels from the edge, and the most pixels of a frame. */
const EDGE = 56;
const FASTEST = 18;

export function createAutoScroll(): AutoScroll {
  let scroller: Element | null = null;
  let step = 0;
  let frame: number | undefined;

  const scroll = () => {
    frame = undefined;
    if (!scroller || step === 0) return;
    scroller.scrollBy({ top: step, behavior: 'instant' });
    frame = requestAnimationFrame(scroll);
  };

  return {
    over(element, clientY) {
      scroller = element.closest('[data-scroller]');
      step = scroller ? stepAt(scroller.getBoundingClientRect(), clientY) : 0;
      if (step !== 0) frame ??= requestAnimationFrame(scroll);
    },
    end() {
      scroller = null;
      step = 0;
      if (frame !== undefined) cancelAnimationFrame(frame);
      frame = undefined;
    },
  };
}

/** Faster the nearer to the edge; up is negative. */
function stepAt({ top, bottom }: DOMRect, y: number): number {
  if (y < top + EDGE) return -Math.round((FASTEST * Math.min(EDGE, top + EDGE - y)) / EDGE);
  if (y > bottom - EDGE) return Math.round((FASTEST * Math.min(EDGE, y - bottom + EDGE)) / EDGE);
  return 0;
}
