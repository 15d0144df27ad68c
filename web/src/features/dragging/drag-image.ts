import './dragging.css';

/** What is shown at the pointer while entries are dragged: the name of the one, or how many they are. */
export function showDragImage(transfer: DataTransfer, icon: 'folder' | 'file', words: string): void {
  const image = document.createElement('div');
  image.className = 'drag-image';
  image.setAttribute('aria-hidden', 'true');
  const name = document.createElement('bdi');
  name.textContent = words;
  image.append(drawn(icon), name);
  document.body.append(image);
  transfer.setDragImage(image, 0, 0);
  // The browser takes its picture when the event is over.
  setTimeout(() => image.remove());
}

const SVG = 'http://www.w3.org/2000/svg';

function drawn(icon: string): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', `icon ${icon}`);
  svg.setAttribute('viewBox', '0 0 20 20');
  const use = document.createElementNS(SVG, 'use');
  use.setAttribute('href', `#icon-${icon}`);
  svg.append(use);
  return svg;
}
