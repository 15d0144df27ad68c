import { useFullLanguage } from '../../platform/text/language.ts';
import { canBeFullscreen, enterFullscreen, leaveFullscreen } from './fullscreen.ts';
import type { ViewerTool } from './viewer-tools.ts';

interface ViewOptions {
  /** Whether the shown file is an image. */
  readonly isPhoto: boolean;
  readonly isFullscreen: boolean;
  readonly startSlideshow: () => void;
}

/** Returns the tools that change how the viewer shows files. */
export function useViewTools({ isPhoto, isFullscreen, startSlideshow }: ViewOptions): readonly ViewerTool[] {
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
    run: () => void (isFullscreen ? leaveFullscreen() : enterFullscreen()),
  };
  return [...(isPhoto ? [slideshow] : []), ...(canBeFullscreen() ? [fullscreen] : [])];
}
