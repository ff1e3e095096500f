//! Draws what egui tessellates on the processor: pictures without a display, a driver or a device, with the same bits everywhere.

use eframe::egui::epaint::{ClippedPrimitive, Mesh, Primitive, Vertex};
use eframe::egui::{self, Color32, ImageData, Rect, TextureFilter, TextureId, TexturesDelta};
use std::collections::HashMap;

/// A texture as egui set it.
struct Texture {
    width: usize,
    height: usize,
    linear: bool,
    pixels: Vec<Color32>,
}

impl Texture {
    fn pixel(&self, x: i64, y: i64) -> Color32 {
        let x = x.clamp(0, self.width as i64 - 1) as usize;
        let y = y.clamp(0, self.height as i64 - 1) as usize;
        self.pixels[y * self.width + x]
    }

    /// The colour at (u, v), premultiplied, each channel 0 to 255.
    fn sample(&self, u: f32, v: f32) -> [f32; 4] {
        let (x, y) = (u * self.width as f32, v * self.height as f32);
        if !self.linear {
            return channels(self.pixel(x.floor() as i64, y.floor() as i64));
        }
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (fx, fy) = (x - left, y - top);
        let (left, top) = (left as i64, top as i64);
        let mut sum = [0.0; 4];
        for (dx, dy, share) in
            [(0, 0, (1.0 - fx) * (1.0 - fy)), (1, 0, fx * (1.0 - fy)), (0, 1, (1.0 - fx) * fy), (1, 1, fx * fy)]
        {
            let pixel = channels(self.pixel(left + dx, top + dy));
            for (sum, channel) in sum.iter_mut().zip(pixel) {
                *sum += share * channel;
            }
        }
        sum
    }
}

fn channels(color: Color32) -> [f32; 4] {
    color.to_array().map(f32::from)
}

/// A picture, rows from top to bottom, red, green, blue, opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// pixels across
    pub width: usize,
    /// pixels down
    pub height: usize,
    /// three bytes a pixel
    pub rgb: Vec<u8>,
}

impl Picture {
    /// As a PNG file.
    ///
    /// # Errors
    /// Where the encoder refuses, which it does for a picture without pixels.
    pub fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.rgb)?;
        writer.finish()?;
        Ok(bytes)
    }
}

/// The textures of a context.
#[derive(Default)]
pub struct Raster {
    textures: HashMap<TextureId, Texture>,
}

impl Raster {
    /// Takes over what a frame did to the textures.
    pub fn update(&mut self, mut delta: TexturesDelta) {
        for (id, images) in std::mem::take(&mut delta.set) {
            for image in images {
                let ImageData::Color(pixels) = &image.image;
                let [width, height] = pixels.size;
                let linear = image.options.magnification == TextureFilter::Linear;
                match image.pos {
                    None => {
                        self.textures.insert(id, Texture { width, height, linear, pixels: pixels.pixels.clone() });
                    }
                    Some([x, y]) => {
                        let Some(texture) = self.textures.get_mut(&id) else { continue };
                        if x + width > texture.width || y + height > texture.height {
                            continue;
                        }
                        for row in 0..height {
                            let to = (y + row) * texture.width + x;
                            texture.pixels[to..to + width]
                                .copy_from_slice(&pixels.pixels[row * width..(row + 1) * width]);
                        }
                    }
                }
            }
        }
        for id in std::mem::take(&mut delta.free) {
            self.textures.remove(&id);
        }
    }

    /// Draws a frame on a background.
    pub fn draw(
        &self,
        primitives: &[ClippedPrimitive],
        pixels_per_point: f32,
        (width, height): (usize, usize),
        background: Color32,
    ) -> Picture {
        let mut canvas = Canvas { width, height, pixels: vec![channels(background); width * height] };
        for ClippedPrimitive { clip_rect, primitive } in primitives {
            if let Primitive::Mesh(mesh) = primitive {
                let texture = self.textures.get(&mesh.texture_id);
                canvas.mesh(mesh, texture, *clip_rect, pixels_per_point);
            }
        }
        let byte = |x: f32| (x + 0.5).clamp(0.0, 255.0) as u8;
        let rgb = canvas.pixels.iter().flat_map(|p| [byte(p[0]), byte(p[1]), byte(p[2])]).collect();
        Picture { width, height, rgb }
    }
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<[f32; 4]>,
}

impl Canvas {
    fn mesh(&mut self, mesh: &Mesh, texture: Option<&Texture>, clip: Rect, scale: f32) {
        let edge = |x: f32, most: usize| (x * scale).round().clamp(0.0, most as f32) as i64;
        let clip = [
            edge(clip.min.x, self.width),
            edge(clip.min.y, self.height),
            edge(clip.max.x, self.width),
            edge(clip.max.y, self.height),
        ];
        for corners in mesh.indices.chunks_exact(3) {
            let corner = |i: usize| mesh.vertices.get(corners[i] as usize).copied().unwrap_or_default();
            self.triangle([corner(0), corner(1), corner(2)], texture, clip, scale);
        }
    }

    fn triangle(&mut self, mut v: [Vertex; 3], texture: Option<&Texture>, clip: [i64; 4], scale: f32) {
        if v.iter().any(|v| !v.pos.x.is_finite() || !v.pos.y.is_finite()) {
            return;
        }
        // Places in 1/256 of a pixel: neighbours share their edges exactly, so no pixel is drawn twice or left out.
        let fixed = |x: f32| (f64::from(x) * f64::from(scale) * 256.0).round().clamp(-1e9, 1e9) as i64;
        let mut p = v.map(|v| (fixed(v.pos.x), fixed(v.pos.y)));
        let cross = |a: (i64, i64), b: (i64, i64), c: (i64, i64)| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0);
        let mut twice = cross(p[0], p[1], p[2]);
        if twice == 0 {
            return;
        }
        if twice < 0 {
            v.swap(1, 2);
            p.swap(1, 2);
            twice = -twice;
        }
        let low = |f: fn(&(i64, i64)) -> i64| p.iter().map(f).min().unwrap_or(0).div_euclid(256);
        let high = |f: fn(&(i64, i64)) -> i64| p.iter().map(f).max().unwrap_or(0).div_euclid(256) + 1;
        let (x0, x1) = (low(|p| p.0).max(clip[0]), high(|p| p.0).min(clip[2]));
        let (y0, y1) = (low(|p| p.1).max(clip[1]), high(|p| p.1).min(clip[3]));
        // An edge that is a left or a top one owns the pixels on it.
        let owns = |a: (i64, i64), b: (i64, i64)| (a.1 == b.1 && b.0 > a.0) || b.1 < a.1;
        let bias = [(1, 2), (2, 0), (0, 1)].map(|(a, b)| if owns(p[a], p[b]) { 0 } else { -1 });
        let colors = v.map(|v| channels(v.color));
        let plain = v[0].uv == v[1].uv && v[0].uv == v[2].uv;
        let fixed_texel = plain.then(|| texture.map_or([255.0; 4], |t| t.sample(v[0].uv.x, v[0].uv.y)));
        for y in y0..y1 {
            for x in x0..x1 {
                let here = (256 * x + 128, 256 * y + 128);
                let w = [cross(p[1], p[2], here), cross(p[2], p[0], here), cross(p[0], p[1], here)];
                if (0..3).any(|i| w[i] + bias[i] < 0) {
                    continue;
                }
                let w = w.map(|w| w as f32 / twice as f32);
                let mix = |f: &dyn Fn(usize) -> f32| w[0] * f(0) + w[1] * f(1) + w[2] * f(2);
                let texel = fixed_texel.unwrap_or_else(|| {
                    let (s, t) = (mix(&|i| v[i].uv.x), mix(&|i| v[i].uv.y));
                    texture.map_or([255.0; 4], |texture| texture.sample(s, t))
                });
                let source: [f32; 4] = std::array::from_fn(|c| mix(&|i| colors[i][c]) * texel[c] / 255.0);
                let pixel = &mut self.pixels[y as usize * self.width + x as usize];
                let rest = 1.0 - source[3] / 255.0;
                for c in 0..4 {
                    pixel[c] = source[c] + pixel[c] * rest;
                }
            }
        }
    }
}

/// Runs frames without a window.
pub struct Headless {
    /// the context
    pub ctx: egui::Context,
    raster: Raster,
    size: egui::Vec2,
    scale: f32,
    time: f64,
    /// events for the next frame
    pub events: Vec<egui::Event>,
}

/// What a frame took and left.
pub struct Frame {
    /// what to draw
    pub primitives: Vec<ClippedPrimitive>,
    /// seconds of the frame's code
    pub ui: f64,
    /// seconds of tessellation
    pub tessellation: f64,
    /// whether another frame is asked for at once
    pub wants_another: bool,
}

impl Headless {
    /// A context of this size in points, with so many pixels to a point.
    pub fn new(size: egui::Vec2, scale: f32) -> Headless {
        let ctx = egui::Context::default();
        // Nothing moves by itself in a picture.
        ctx.all_styles_mut(|style| {
            style.animation_time = 0.0;
            style.visuals.text_cursor.blink = false;
        });
        Headless { ctx, raster: Raster::default(), size, scale, time: 0.0, events: Vec::new() }
    }

    /// One frame.
    pub fn frame(&mut self, run: impl FnMut(&mut egui::Ui)) -> Frame {
        let input = self.input();
        let began = std::time::Instant::now();
        let output = self.ctx.run_ui(input, run);
        let ui = began.elapsed().as_secs_f64();
        let began = std::time::Instant::now();
        let primitives = self.ctx.tessellate(output.shapes, output.pixels_per_point);
        let tessellation = began.elapsed().as_secs_f64();
        self.raster.update(output.textures_delta);
        let delay = output.viewport_output.get(&egui::ViewportId::ROOT).map(|viewport| viewport.repaint_delay);
        Frame { primitives, ui, tessellation, wants_another: delay.is_some_and(|delay| delay.is_zero()) }
    }

    /// The middle of the widget whose accessible name begins like this, found in one more frame.
    pub fn find(&mut self, name: &str, run: impl FnMut(&mut egui::Ui)) -> Option<egui::Pos2> {
        self.ctx.enable_accesskit();
        let input = self.input();
        let output = self.ctx.run_ui(input, run);
        self.ctx.disable_accesskit();
        self.raster.update(output.textures_delta);
        let update = output.platform_output.accesskit_update?;
        let (_, node) =
            update.nodes.iter().find(|(_, node)| node.label().is_some_and(|label| label.starts_with(name)))?;
        let bounds = node.bounds()?;
        let scale = f64::from(self.ctx.pixels_per_point());
        Some(egui::pos2(
            ((bounds.x0 + bounds.x1) / (2.0 * scale)) as f32,
            ((bounds.y0 + bounds.y1) / (2.0 * scale)) as f32,
        ))
    }

    fn input(&mut self) -> egui::RawInput {
        self.time += 1.0 / 60.0;
        let mut input = egui::RawInput {
            screen_rect: Some(Rect::from_min_size(egui::Pos2::ZERO, self.size)),
            time: Some(self.time),
            events: std::mem::take(&mut self.events),
            focused: true,
            ..Default::default()
        };
        if let Some(viewport) = input.viewports.get_mut(&egui::ViewportId::ROOT) {
            viewport.native_pixels_per_point = Some(self.scale);
        }
        input
    }

    /// The picture of a frame.
    pub fn picture(&self, frame: &Frame) -> Picture {
        let scale = self.ctx.pixels_per_point();
        let size = self.size * self.scale;
        let size = (size.x.round().max(1.0) as usize, size.y.round().max(1.0) as usize);
        self.raster.draw(&frame.primitives, scale, size, self.ctx.global_style().visuals.panel_fill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{pos2, vec2};

    fn vertex(x: f32, y: f32, color: Color32) -> Vertex {
        Vertex { pos: pos2(x, y), uv: egui::epaint::WHITE_UV, color }
    }

    /// Two triangles that share an edge cover each pixel of a rectangle once, whatever the diagonal.
    #[test]
    fn neighbours_leave_no_seam() {
        let half = Color32::from_rgba_premultiplied(0, 0, 0, 128);
        for (x, y) in [(0.0, 0.0), (0.3, 0.7), (1.5, 0.25)] {
            let mut mesh = Mesh::default();
            for (dx, dy) in [(0.0, 0.0), (10.0, 0.0), (10.0, 7.0), (0.0, 7.0)] {
                mesh.vertices.push(vertex(x + dx, y + dy, half));
            }
            mesh.indices = vec![0, 1, 2, 0, 2, 3];
            let everything = Rect::from_min_size(pos2(0.0, 0.0), vec2(20.0, 20.0));
            let primitives = [ClippedPrimitive { clip_rect: everything, primitive: Primitive::Mesh(mesh) }];
            let picture = Raster::default().draw(&primitives, 1.0, (20, 20), Color32::WHITE);
            let counts = picture.rgb.chunks(3).fold((0, 0, 0), |(white, grey, other), pixel| match pixel[0] {
                255 => (white + 1, grey, other),
                126..=128 => (white, grey + 1, other),
                _ => (white, grey, other + 1),
            });
            assert_eq!(counts, (400 - 70, 70, 0), "at {x}, {y}");
        }
    }

    #[test]
    fn clipping_and_absurd_places_are_safe() {
        let mut mesh = Mesh::default();
        for (x, y) in [(f32::NAN, 0.0), (1e30, 1e30), (-1e30, 5.0), (3.0, 3.0), (9.0, 3.0), (3.0, 9.0)] {
            mesh.vertices.push(vertex(x, y, Color32::RED));
        }
        mesh.indices = vec![0, 1, 2, 1, 2, 3, 3, 4, 5, 3, 3, 3, 90, 91, 92];
        let clip = Rect::from_min_max(pos2(-5.0, -5.0), pos2(4.0, 500.0));
        let primitives = [ClippedPrimitive { clip_rect: clip, primitive: Primitive::Mesh(mesh) }];
        let picture = Raster::default().draw(&primitives, 1.0, (8, 8), Color32::WHITE);
        assert_eq!(picture.rgb.len(), 192);
        assert_eq!(&picture.rgb[(3 * 8 + 6) * 3..][..3], [255, 255, 255], "outside of the clip");
    }

    #[test]
    fn text_is_drawn() {
        let mut headless = Headless::new(vec2(120.0, 40.0), 2.0);
        let mut frame = headless.frame(|ui| {
            ui.label("weights");
        });
        while frame.wants_another {
            frame = headless.frame(|ui| {
                ui.label("weights");
            });
        }
        let picture = headless.picture(&frame);
        assert_eq!((picture.width, picture.height), (240, 80));
        let first = &picture.rgb[..3];
        let inked = picture.rgb.chunks(3).filter(|pixel| *pixel != first).count();
        assert!(inked > 200, "{inked}");
        assert!(picture.png().unwrap().starts_with(b"\x89PNG"));
    }
}
