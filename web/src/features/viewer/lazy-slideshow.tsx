import { useEffect, useState } from 'preact/hooks';
import { reportLoadFailure } from '../../model/messages.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { useLanguageSignal } from '../../platform/text/language.ts';
import { rowKeys } from '../../ui/direction.ts';
import { isField, keysOf } from '../../ui/keyboard.ts';
import { useLoaded } from '../../ui/loading.ts';
import { useMessages } from '../models.ts';
import type { Gallery } from './gallery.ts';
import type { ViewerState } from './viewer-tools.ts';

/** The slideshow of the viewer. Its code loads when the first one starts. */
export interface SlideshowControl {
  readonly state: 'off' | 'playing' | 'paused';
  readonly start: () => void;
  readonly pause: (isPaused: boolean) => void;
  readonly end: () => void;
}

export function useSlideshow(): SlideshowControl {
  const [state, setState] = useState<SlideshowControl['state']>('off');
  return {
    state,
    start: () => setState('playing'),
    pause: (isPaused) => setState(isPaused ? 'paused' : 'playing'),
    end: () => setState('off'),
  };
}

/**
 * Handles a key during a slideshow: the space bar pauses it, the arrow keys show other files, and any other key ends it. Returns
 * whether the key was for the slideshow.
 */
export function handleSlideshowKey(event: KeyboardEvent, { state, pause, end }: SlideshowControl): boolean {
  const { previous, next } = rowKeys();
  const key = keysOf(event);
  const isOnButton = event.target instanceof Element && event.target.closest('button') !== null;
  if (isField(event.target) || ['Tab', 'shift+Tab', previous, next].includes(key) || MODIFIERS.has(event.key)) {
    return false;
  }
  if (isOnButton && [' ', 'Enter', 'ArrowDown'].includes(key)) return false;
  event.stopPropagation();
  event.preventDefault();
  if (key === ' ') pause(state === 'playing');
  else end();
  return true;
}

const MODIFIERS = new Set(['Shift', 'Control', 'Alt', 'Meta']);

interface LazySlideshowProps {
  path: string;
  gallery: Gallery;
  viewer: ViewerState;
  slideshow: SlideshowControl;
  isIdle: boolean;
  onShow: (file: FileEntry) => void;
}

export function LazySlideshow({ slideshow: { state, pause, end }, ...rest }: LazySlideshowProps) {
  const messages = useMessages();
  const language = useLanguageSignal();
  const loaded = useLoaded(() => import('./slideshow.tsx'));
  useEffect(() => {
    if (loaded.state !== 'failed') return;
    end();
    void reportLoadFailure({ messages, language });
  }, [loaded.state]);
  if (loaded.state !== 'ready') return null;
  return <loaded.value.Slideshow {...rest} isPaused={state === 'paused'} onPause={pause} onEnd={end} />;
}

/** Milliseconds without an input after which the buttons of a slideshow disappear. */
const IDLE_MS = 2_500;

/** Returns whether the user has not moved the pointer or pressed a key for some time. */
export function useIdle(isWatched: boolean): boolean {
  const [isIdle, setIdle] = useState(false);
  useEffect(() => {
    if (!isWatched) return undefined;
    const listening = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const restart = () => {
      setIdle(false);
      clearTimeout(timer);
      timer = setTimeout(() => setIdle(true), IDLE_MS);
    };
    restart();
    for (const type of ['pointermove', 'pointerdown', 'keydown', 'focusin']) {
      window.addEventListener(type, restart, { signal: listening.signal, capture: true, passive: true });
    }
    return () => {
      clearTimeout(timer);
      listening.abort();
      setIdle(false);
    };
  }, [isWatched]);
  return isIdle;
}
