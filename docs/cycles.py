"""A VDB of `firn export` in Blender's Cycles, for the comparison in render.md. Run by Blender:

    blender -b -P docs/cycles.py -- FRAME.vdb EYE TARGET FOV WxH SAMPLES STEP_RATE OUT

EYE and TARGET are X,Y,Z. Renders twice with different seeds on one core, prints the processor time of each and the noise in the
pixels that are all snow, and writes OUT.png and the mask of those pixels, OUT.mask (rows from the bottom, as in a PFM)."""
import math
import sys
import time

import bpy
from mathutils import Matrix, Vector

vdb, eye, target, fov, size, samples, step_rate, out = sys.argv[sys.argv.index("--") + 1:]
eye, target = (Vector([float(v) for v in point.split(",")]) for point in (eye, target))
width, height = (int(v) for v in size.split("x"))

bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.engine, scene.cycles.device = "CYCLES", "CPU"
scene.render.threads_mode, scene.render.threads = "FIXED", 1
scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = width, height, 100
scene.render.film_transparent = True
scene.cycles.samples, scene.cycles.use_adaptive_sampling, scene.cycles.use_denoising = int(samples), False, False
for kind in ("max_bounces", "volume_bounces", "transparent_max_bounces"):
    setattr(scene.cycles, kind, 1024)
scene.cycles.volume_step_rate, scene.cycles.volume_max_steps = float(step_rate), 65536
scene.view_settings.view_transform = "Standard"

# Snow: extinction 724/m at 400 kg/m^3, g 0.5, the albedo of the look `snow`.
bpy.ops.object.volume_import(filepath=vdb)
material = bpy.data.materials.new("snow")
material.use_nodes = True
nodes, link = material.node_tree.nodes, material.node_tree.links.new
nodes.clear()
density = nodes.new("ShaderNodeAttribute")
density.attribute_name = "density"
scaled = nodes.new("ShaderNodeMath")
scaled.operation, scaled.inputs[1].default_value = "MULTIPLY", 724 / 400
link(density.outputs["Fac"], scaled.inputs[0])
both, end = nodes.new("ShaderNodeAddShader"), nodes.new("ShaderNodeOutputMaterial")
for at, kind in enumerate(("ShaderNodeVolumeScatter", "ShaderNodeVolumeAbsorption")):
    node = nodes.new(kind)
    node.inputs["Color"].default_value = (0.9985, 0.999, 0.9995, 1)
    link(scaled.outputs[0], node.inputs["Density"])
    link(node.outputs[0], both.inputs[at])
    if "Anisotropy" in node.inputs:
        node.inputs["Anisotropy"].default_value = 0.5
link(both.outputs[0], end.inputs["Volume"])
bpy.context.object.data.materials.append(material)

# A sun of 0.53 degrees where Firn's is, and an even sky.
scene.world = bpy.data.worlds.new("sky")
scene.world.use_nodes = True
sky = scene.world.node_tree.nodes["Background"]
sky.inputs[0].default_value, sky.inputs[1].default_value = (1, 1, 1, 1), 0.3
sun = bpy.data.lights.new("sun", "SUN")
sun.energy, sun.angle = 2.2, math.radians(0.53)
sun = bpy.data.objects.new("sun", sun)
sun.rotation_euler = Vector((-0.49, 0.66, 0.70)).to_track_quat("Z", "Y").to_euler()
scene.collection.objects.link(sun)

lens = bpy.data.cameras.new("camera")
lens.sensor_fit, lens.angle_y, lens.clip_start = "VERTICAL", math.radians(float(fov)), 0.001
camera = bpy.data.objects.new("camera", lens)
scene.collection.objects.link(camera)
scene.camera = camera
ahead = (target - eye).normalized()
right = ahead.cross(Vector((0, 1, 0))).normalized()
camera.matrix_world = Matrix((right, right.cross(ahead), -ahead)).transposed().to_4x4()
camera.location = eye

pictures = []
for seed in (1, 2):
    scene.cycles.seed, scene.render.filepath = seed, "%s_%d.exr" % (out, seed)
    scene.render.image_settings.file_format, scene.render.image_settings.color_depth = "OPEN_EXR", "32"
    start = time.process_time()
    bpy.ops.render.render(write_still=True)
    print("processor time: %.2f s" % (time.process_time() - start))
    pictures.append(bpy.data.images.load(scene.render.filepath))
scene.render.image_settings.file_format, scene.render.image_settings.color_depth = "PNG", "8"
pictures[0].save_render(out + ".png", scene=scene)

first, second = (list(picture.pixels) for picture in pictures)
snow = [first[4 * k + 3] > 0.98 and second[4 * k + 3] > 0.98 for k in range(width * height)]
green = [(first[4 * k + 1], second[4 * k + 1]) for k in range(width * height) if snow[k]]
mean = sum(a + b for a, b in green) / (2 * len(green))
noise = math.sqrt(sum((a - b) ** 2 for a, b in green) / (2 * len(green)))
print("%d pixels of snow, mean %.4f, relative noise %.4f" % (len(green), mean, noise / mean))
with open(out + ".mask", "w") as mask:
    mask.write("".join("01"[s] for s in snow))
