import { useEffect, useRef, useState } from 'preact/hooks';
import { hasThumbnail } from '../../folder/thumbnail.tsx';
import { usePage } from '../../page.ts';
import type { FileEntry } from '../../../platform/service/service.ts';
import type { Text } from '../../../platform/text/language.ts';
import { useFullLanguage } from '../../../platform/text/language-context.ts';
import { FailedElement } from '../failed-element.tsx';
import type { ViewerTool } from '../viewer-tools.ts';
import { type PreviewProps, useTools } from '../viewer-tools.ts';
import { preloadNeighbours } from './preload.ts';
import { useZoom, type ZoomControl } from './use-zoom.ts';
import './image-preview.css';

/** An image, as large as there is room, which can be looked at closely. Only ever as an image: an SVG runs nothing. */
export function ImagePreview({ entry, viewer }: PreviewProps) {
  const { text } = useFullLanguage();
  const [isFailed, setFailed] = useState(false);
  if (!isFailed) return <Image {...{ entry, viewer }} onFail={() => setFailed(true)} />;
  const { none, brokenImage, brokenImageHint } = text.previews;
  const words = isForFew(entry) ? { reason: none } : { reason: brokenImage, hint: brokenImageHint };
  return <FailedElement entry={entry} {...words} onRetry={() => setFailed(false)} />;
}

/** Whether it is of a kind that hardly any browser shows, so that nothing need be wrong with it. */
function isForFew({ contentType }: FileEntry): boolean {
  return /^image\/(tiff|hei[cf]|jxl)\b/i.test(contentType);
}

function Image({ entry, viewer, onFail }: PreviewProps & { onFail: () => void }) {
  const { urls, folder } = usePage();
  const { text, formats } = useFullLanguage();
  const stage = useRef<HTMLDivElement>(null);
  const image = useRef<HTMLImageElement>(null);
  const [isLoaded, setLoaded] = useState(false);
  const control = useZoom(stage, image);
  const { scale, x, y } = control.zoom.value;
  const isEnlarged = scale > 1;

  useTools(viewer, () => toolsOf(control, isEnlarged, text), [isEnlarged, text]);
  useEffect(() => {
    if (isLoaded) preloadNeighbours(entry, folder, urls);
  }, [isLoaded]);

  return (
    <div ref={stage} class={`image ${isEnlarged ? 'enlarged' : ''}`}>
      {!isLoaded && <Placeholder entry={entry} />}
      <img
        ref={image}
        class={`picture ${isLoaded ? 'loaded' : ''} ${control.isStep.value ? 'step' : ''}`}
        style={{ transform: `translate(${x}px, ${y}px) scale(${scale})` }}
        src={urls.file(entry.path)}
        alt={entry.name}
        draggable={false}
        onLoad={() => setLoaded(true)}
        onError={onFail}
      />
      <output class={isEnlarged ? 'percentage' : 'visually-hidden'}>
        {isEnlarged && text.previews.zoom({ percentage: formats.percent(control.percentage(control.zoom.value)) })}
      </output>
    </div>
  );
}

/** A hint of the colours, which does not say what shape is to come. */
function Placeholder({ entry }: { entry: FileEntry }) {
  const { urls } = usePage();
  const [isThere, setThere] = useState(false);
  if (!hasThumbnail(entry)) return null;
  const url = urls.thumbnail(entry.path, entry.etag);
  return <img class={`placeholder ${isThere ? 'there' : ''}`} src={url} alt="" onLoad={() => setThere(true)} />;
}

/** Pixels by which an arrow moves an enlarged image. */
const MOVE = 80;

function toolsOf({ step, fit, move }: ZoomControl, isEnlarged: boolean, { previews }: Text): readonly ViewerTool[] {
  const arrows: readonly ViewerTool[] = [
    { id: 'left', keys: ['ArrowLeft'], run: () => move({ x: MOVE, y: 0 }) },
    { id: 'right', keys: ['ArrowRight'], run: () => move({ x: -MOVE, y: 0 }) },
    { id: 'up', keys: ['ArrowUp'], run: () => move({ x: 0, y: MOVE }) },
    { id: 'down', keys: ['ArrowDown'], run: () => move({ x: 0, y: -MOVE }) },
  ];
  return [
    {
      id: 'out',
      button: { icon: 'zoom-out', label: previews.zoomOut, disabled: !isEnlarged },
      keys: ['-', '_'],
      run: () => step(1 / 1.5),
    },
    { id: 'in', button: { icon: 'zoom-in', label: previews.zoomIn }, keys: ['+', '='], run: () => step(1.5) },
    { id: 'fit', button: { icon: 'fit', label: previews.fit, disabled: !isEnlarged }, keys: ['0'], run: fit },
    // While all of it is seen, arrows lead to the next file.
    ...(isEnlarged ? arrows : []),
  ];
}
