import { useFullLanguage } from '../../platform/text/language.ts';
import { canBeFullscreen, enterFullscreen, leaveFullscreen } from './fullscreen.ts';
import type { ViewerState, ViewerTool } from './viewer-tools.ts';

interface ViewOptions {
  readonly viewer: ViewerState;
  /** Whether the shown file is an image. */
  readonly isPhoto: boolean;
  readonly isFullscreen: boolean;
  readonly startSlideshow: () => void;
}

/** Returns the tools that change how the viewer shows files. */
export function useViewTools({ viewer, isPhoto, isFullscreen, startSlideshow }: ViewOptions): readonly ViewerTool[] {
  const { previews } = useFullLanguage().text;
  const slideshow: ViewerTool = {
    id: 'slideshow',
    button: { icon: 'slideshow', label: previews.startSlideshow },
    keys: ['s'],
    run: startSlideshow,
  };
  const fullscreen: ViewerTool = {
    id: 'fullscreen',
    button: isFullscreen
      ? { icon: 'leave-fullscreen', label: previews.leaveFullscreen, pressed: true }
      : { icon: 'fullscreen', label: previews.fullscreen, pressed: false },
    keys: ['f'],
    run: () => void (isFullscreen ? leaveFullscreen() : enterFullscreen(viewer)),
  };
  return [...(isPhoto ? [slideshow] : []), ...(canBeFullscreen() ? [fullscreen] : [])];
}
