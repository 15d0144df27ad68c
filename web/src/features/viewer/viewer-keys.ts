import { pressed } from '../../ui/keys.ts';
import { isText } from '../../ui/writing.ts';
import type { ViewerTool } from './viewer-tools.ts';

interface Targets {
  readonly stage: HTMLElement | null;
  readonly tools: readonly ViewerTool[];
  /** Whether single characters are keys, which a person can turn off. */
  readonly characterKeys: boolean;
  readonly previous: () => void;
  readonly next: () => void;
}

/** Does what a key is for in the viewer. None of them reaches the page behind it. */
export function handleKey(event: KeyboardEvent, { stage, tools, characterKeys, previous, next }: Targets): void {
  event.stopPropagation();
  const { target } = event;
  if (event.defaultPrevented || !(target instanceof Element)) return;
  // These have a use of their own for nearly all keys.
  if (isText(target) || target.closest('video, audio')) return;

  const key = pressed(event);
  const scroller = stage?.querySelector('[data-scroller]');
  const isInScroller = scroller?.contains(target) === true;
  const isOff = key.length === 1 && !characterKeys;
  const tool = isOff ? undefined : tools.find(({ keys, button }) => keys.includes(key) && button?.disabled !== true);
  const run =
    tool?.run ?? (isInScroller && scrollsAcross(scroller) ? undefined : { ArrowLeft: previous, ArrowRight: next }[key]);
  if (run) {
    event.preventDefault();
    run();
  } else if (scroller && !isInScroller && scroll(scroller, key)) {
    event.preventDefault();
  }
}

function scrollsAcross({ scrollWidth, clientWidth }: Element): boolean {
  return scrollWidth > clientWidth;
}

/** Scrolls as the key would if the focus were in there. Gives whether it is such a key. */
function scroll(scroller: Element, key: string): boolean {
  const page = scroller.clientHeight * 0.9;
  const distance = { ArrowUp: -LINE, ArrowDown: LINE, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity }[
    key
  ];
  if (distance === undefined) return false;
  const end = distance > 0 ? scroller.scrollHeight : 0;
  scroller.scrollTop = Number.isFinite(distance) ? scroller.scrollTop + distance : end;
  return true;
}

/** Pixels that an arrow scrolls. */
const LINE = 40;
